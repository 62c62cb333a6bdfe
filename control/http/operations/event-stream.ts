import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../../problem.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Ends a stream each; by what it was opened by. */
    openStreams: Map<AbortController, StreamRight>;
  }
}

/** Streams at a time of one key, or of one person. */
const MAX_STREAMS = 20;
/** The streams of all keys and people of an organisation. */
const MAX_STREAMS_OF_ORGANISATION = 100;
/** How often a stream checks its right without a notification, because one may be lost. */
const CHECK_MS = 15_000;
/** The clock of the database may be behind. */
const SOON_MS = 100;

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // Asks nginx to pass on each event at once.
  'x-accel-buffering': 'no',
};

/** Streams end before the server waits for its requests. */
export function addStreams(app: FastifyInstance): void {
  app.decorate('openStreams', new Map<AbortController, StreamRight>());
  app.addHook('preClose', (done) => {
    for (const ending of app.openStreams.keys()) ending.abort();
    done();
  });
}

/** The right by which a stream is opened. */
export interface StreamRight {
  /** The id of the key, or the negative id of the person. */
  readonly callerId: number;
  readonly organisationId: number;
  /** When the right expires, null if it does not. Rejects when it has ended or changed. */
  check(): Promise<Date | null>;
  /** Calls back when rights may have changed; returns what stops that. */
  onChange(listener: () => void): () => void;
}

/**
 * Sends server-sent events until the caller leaves or does not read, the server stops, or its right ends. 429
 * `rate_limited` if the caller has too many streams.
 */
export async function sendStream(
  request: FastifyRequest,
  reply: FastifyReply,
  open: (ending: AbortController) => Promise<AsyncGenerator<string, void>>,
  right: StreamRight,
): Promise<FastifyReply> {
  const { openStreams } = request.server;
  refuseTooMany([...openStreams.values()], right);
  const ending = new AbortController();
  openStreams.set(ending, right);
  const stopWatching = watchRight(right, ending);
  const release = (): void => {
    ending.abort();
    stopWatching();
    openStreams.delete(ending);
  };
  reply.raw.once('close', release);
  ending.signal.addEventListener('abort', () => {
    // A caller that does not read would never receive the end.
    if (reply.raw.writableNeedDrain) reply.raw.destroy();
  });
  try {
    const texts = await open(ending);
    // Throws what the input is refused for, before anything is sent.
    const first = await texts.next();
    reply.headers(HEADERS);
    if (request.method === 'HEAD') {
      await texts.return();
      return await reply.send();
    }
    return await reply.send(Readable.from(startingWith(first, texts)));
  } catch (error) {
    release();
    throw error;
  }
}

/**
 * Checks at once too: the right may have ended between its first check and here, and a key may have been read a second
 * ago. A database that does not answer ends the stream: its right cannot be known.
 */
function watchRight(right: StreamRight, ending: AbortController): () => void {
  let expiry: NodeJS.Timeout | undefined;
  const check = async (): Promise<void> => {
    const expiresAt = await right.check();
    const leftMs = (expiresAt?.getTime() ?? Number.POSITIVE_INFINITY) - Date.now();
    clearTimeout(expiry);
    if (leftMs <= CHECK_MS && !ending.signal.aborted)
      expiry = setTimeout(run, Math.max(SOON_MS, leftMs));
  };
  // One at a time: somebody may change rights in a loop, and every stream is notified of each change.
  let isChecking = false;
  let again = false;
  const run = (): void => {
    again = isChecking;
    if (isChecking) return;
    isChecking = true;
    void check()
      .catch(() => ending.abort())
      .finally(() => {
        isChecking = false;
        if (again && !ending.signal.aborted) run();
      });
  };
  const timer = setInterval(run, CHECK_MS);
  const stop = right.onChange(run);
  run();
  return () => {
    clearInterval(timer);
    clearTimeout(expiry);
    stop();
  };
}

function refuseTooMany(open: readonly StreamRight[], right: StreamRight): void {
  const ofCaller = open.filter(({ callerId }) => callerId === right.callerId).length;
  if (ofCaller >= MAX_STREAMS) throw tooMany(MAX_STREAMS, 'this key or person');
  const ofAll = open.filter(({ organisationId }) => organisationId === right.organisationId).length;
  if (ofAll >= MAX_STREAMS_OF_ORGANISATION) {
    throw tooMany(MAX_STREAMS_OF_ORGANISATION, 'this organisation');
  }
}

function tooMany(count: number, whose: string): Problem {
  return new Problem(
    'rate_limited',
    `There are ${count} event streams of ${whose} already. Close one, or share one between readers.`,
    { headers: { 'retry-after': '5' } },
  );
}

async function* startingWith(
  first: IteratorResult<string, void>,
  rest: AsyncGenerator<string, void>,
): AsyncGenerator<string, void> {
  if (first.done !== true) yield first.value;
  yield* rest;
}
