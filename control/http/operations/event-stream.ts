import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

declare module 'fastify' {
  interface FastifyInstance {
    /** Ends a stream each. */
    openStreams: Set<AbortController>;
  }
}

/** How long a stream goes on after its key or session was revoked. */
const ADMITTED_MS = 15_000;

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // Asks nginx to pass on each event at once.
  'x-accel-buffering': 'no',
};

/** Streams end before the server waits for its requests. */
export function addStreams(app: FastifyInstance): void {
  app.decorate('openStreams', new Set<AbortController>());
  app.addHook('preClose', (done) => {
    for (const stream of app.openStreams) stream.abort();
    done();
  });
}

/** Sends server-sent events until the caller leaves, the server stops, or `admit` rejects. */
export async function sendStream(
  request: FastifyRequest,
  reply: FastifyReply,
  open: (signal: AbortSignal) => Promise<AsyncGenerator<string, void>>,
  admit: () => Promise<void>,
): Promise<FastifyReply> {
  const ending = new AbortController();
  const texts = await open(ending.signal);
  // Throws what the input is refused for, before anything is sent.
  const first = await texts.next();
  reply.headers(HEADERS);
  if (request.method === 'HEAD') {
    await texts.return();
    return reply.send();
  }
  const { openStreams } = request.server;
  openStreams.add(ending);
  reply.raw.once('close', () => {
    openStreams.delete(ending);
    ending.abort();
  });
  return reply.send(Readable.from(admitted(first, texts, admit)));
}

async function* admitted(
  first: IteratorResult<string, void>,
  rest: AsyncGenerator<string, void>,
  admit: () => Promise<void>,
): AsyncGenerator<string, void> {
  if (first.done !== true) yield first.value;
  let checkedAt = performance.now();
  for await (const text of rest) {
    if (performance.now() - checkedAt >= ADMITTED_MS) {
      const isAdmitted = await admit().then(
        () => true,
        () => false,
      );
      if (!isAdmitted) return;
      checkedAt = performance.now();
    }
    yield text;
  }
}
