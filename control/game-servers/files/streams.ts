import { randomBytes, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { StreamTicket } from '@portcullis/link/messages/files.ts';
import { STREAM_PATH, type StreamDirection } from '@portcullis/link/streams.ts';
import type { ServerPlace } from '../nodes/calls.ts';

/** The time that a node has to open its connection. */
const OPEN_MS = 15_000;
/** A stream in which nothing moves for this long is cut. */
const STALL_MS = 120_000;

/** Takes a request; returns whether it was one that was waited for. */
export type ServeStream = (request: IncomingMessage, response: ServerResponse) => boolean;

/** The connection that a node opened for one stream. */
export interface NodeStream {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** A stream that a node was asked to open, or is about to be. */
export interface ExpectedStream {
  readonly ticket: StreamTicket;
  /** Rejects when the node does not come in time, or `close` was called. */
  readonly opened: Promise<NodeStream>;
  /** Forgets it: a node that comes later is refused, and one that came is cut off. */
  close(): void;
}

interface Waiting {
  readonly node: string;
  readonly uuid: string;
  readonly direction: StreamDirection;
  open(stream: NodeStream): void;
  fail(reason: string): void;
}

/**
 * The streams that this replica waits for. A node opens an outgoing request for each with a token that it got over the link,
 * which is good once, for a short time, and for the node, server and direction that it was made for.
 */
export class FileStreams {
  readonly #waiting = new Map<string, Waiting>();
  readonly #url: () => string;

  /** `url`: where nodes of other hosts reach this replica. */
  constructor(url: () => string) {
    this.#url = url;
  }

  expect({ node, uuid }: ServerPlace, direction: StreamDirection): ExpectedStream {
    const token = randomBytes(32).toString('base64url');
    const { promise: opened, resolve, reject } = Promise.withResolvers<NodeStream>();
    // It may end before anybody waits for it.
    opened.catch(() => undefined);
    let stream: NodeStream | null = null;
    const forget = (): void => {
      clearTimeout(timer);
      this.#waiting.delete(token);
    };
    const fail = (reason: string): void => {
      forget();
      reject(new StreamLost(reason));
    };
    const timer = setTimeout(() => fail('The node did not open its connection in time.'), OPEN_MS);
    const open = (come: NodeStream): void => {
      forget();
      stream = come;
      resolve(come);
    };
    this.#waiting.set(token, { node, uuid, direction, open, fail });
    return {
      ticket: { id: randomUUID(), token, url: this.#url() },
      opened,
      close: () => {
        fail('Nobody waits for this stream any more.');
        if (stream?.response.writableFinished === false) stream.request.destroy();
      },
    };
  }

  /** Takes the request of a node, whatever server of this process it came to. Returns whether it was waited for. */
  serve(request: IncomingMessage, response: ServerResponse): boolean {
    const token = /^Bearer ([\w-]{43})$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const waiting = this.#waiting.get(token);
    if (waiting === undefined) return refuse(request, response);
    const { node, uuid, direction } = waiting;
    const path = `${STREAM_PATH}/${node}/${uuid}/${direction}`;
    const method = direction === 'up' ? 'POST' : 'GET';
    if (request.url !== path || request.method !== method) {
      waiting.fail('The node used the token for something else.');
      return refuse(request, response);
    }
    request.socket.setTimeout(STALL_MS, () => request.socket.destroy());
    waiting.open({ request, response });
    return true;
  }
}

/** A stream of a node did not begin, or broke off. */
export class StreamLost extends Error {
  override readonly name = 'StreamLost';
}

/** Answers nothing that says whether a token was known. */
function refuse(request: IncomingMessage, response: ServerResponse): false {
  response.once('finish', () => request.destroy());
  response.writeHead(404, { connection: 'close' }).end();
  return false;
}
