import { Duplex } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Problem } from '../../problem.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Ends a stream each; by what it was opened by. */
    openStreams: Map<AbortController, OpenStream>;
  }
}

interface OpenStream {
  readonly right: StreamRight;
  readonly limits: StreamLimits;
}

/** How many streams of a kind may be open at a time. */
export interface StreamLimits {
  /** The streams, for the refusal. */
  readonly what: string;
  /** The most of one key, or of one person. */
  readonly ofCaller: number;
  /** The most of all keys and people of an organisation. */
  readonly ofOrganisation: number;
}

/** How often a stream checks its right without a notification, because one may be lost. */
const CHECK_MS = 15_000;
/** The clock of the database may be behind. */
const SOON_MS = 100;

/** Streams end before the server waits for its requests. */
export function addStreams(app: FastifyInstance): void {
  app.decorate('openStreams', new Map<AbortController, OpenStream>());
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

/** A stream that was opened. */
export interface HeldStream {
  /** Aborts when the caller leaves, the server stops, or the right ends once that is watched. */
  readonly ending: AbortController;
  watchRight(): void;
  release(): void;
}

/** Takes the place of a stream for a request. 429 `rate_limited` if the caller has too many of them. */
export function holdStream(
  { server: { openStreams } }: FastifyRequest,
  reply: FastifyReply,
  right: StreamRight,
  limits: StreamLimits,
): HeldStream {
  refuseTooMany([...openStreams.values()], right, limits);
  const ending = new AbortController();
  openStreams.set(ending, { right, limits });
  let stopWatching = (): void => {};
  const release = (): void => {
    ending.abort();
    stopWatching();
    openStreams.delete(ending);
  };
  reply.raw.once('close', release);
  // A caller that left while it was looked up is not reported again.
  if (isGone(reply.raw)) release();
  const watch = (): void => {
    if (!ending.signal.aborted) stopWatching = watchRight(right, ending);
  };
  return { ending, watchRight: watch, release };
}

/** Whether a response has closed. One of HTTP/2 has that from its stream. */
function isGone(raw: FastifyReply['raw'] & { readonly stream?: unknown }): boolean {
  return raw.destroyed || (raw.stream instanceof Duplex && raw.stream.destroyed);
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

function refuseTooMany(
  open: readonly OpenStream[],
  { callerId, organisationId }: StreamRight,
  limits: StreamLimits,
): void {
  const alike = open.filter((one) => one.limits === limits);
  const ofCaller = alike.filter(({ right }) => right.callerId === callerId).length;
  if (ofCaller >= limits.ofCaller) throw tooMany(limits.ofCaller, limits, 'this key or person');
  const ofAll = alike.filter(({ right }) => right.organisationId === organisationId).length;
  if (ofAll >= limits.ofOrganisation)
    throw tooMany(limits.ofOrganisation, limits, 'this organisation');
}

function tooMany(count: number, { what }: StreamLimits, whose: string): Problem {
  return new Problem(
    'rate_limited',
    `There are ${count} ${what} of ${whose} already. Close one, or share one between readers.`,
    { headers: { 'retry-after': '5' } },
  );
}
