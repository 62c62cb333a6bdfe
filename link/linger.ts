import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

/** How long what a refused sender still sends is read, so that it gets the answer. */
export const LINGER_MS = 10_000;

const lingering = new WeakSet<Duplex>();

/** Whether the last answer of a connection is given: what comes after its request is dropped. */
export function isLingering(socket: Duplex): boolean {
  return lingering.has(socket);
}

/**
 * Ends a connection after its last answer, and drops what still comes until the other side ends it too, for a while. Closing
 * with bytes unread is a reset, by which the other side can lose the answer (RFC 9112, 9.6): a proxy answers 502 then.
 */
export function endLast(socket: Duplex, data?: string): void {
  lingering.add(socket);
  if (data !== undefined && socket.writable) socket.write(data);
  socket.end();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  timer.unref();
  socket.once('end', () => socket.destroy());
  socket.once('close', () => clearTimeout(timer));
}

/** Has the connection of a request end so once it is answered with `Connection: close`. */
export function lingerAfter(request: IncomingMessage): void {
  // A stream of HTTP/2 ends without its connection.
  if ('stream' in request) return;
  const { socket } = request;
  lingering.add(socket);
  // What Node calls after the last answer of an HTTP/1.1 connection. It reads and drops the rest of the body by itself.
  socket.destroySoon = () => endLast(socket);
}
