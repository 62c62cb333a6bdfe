import { OutgoingMessage } from 'node:http';
import type { Readable, Writable } from 'node:stream';

/**
 * Frees the memory of bytes that nobody uses any more. The collector of garbage counts it with the heap: where a stream passes
 * in parts of 64 KiB, it would walk the whole heap for each few dozens of megabytes, which took most of the time of streams.
 */
export function releaseBytes(bytes: Uint8Array): void {
  const { buffer, byteLength } = bytes;
  // Others may use the rest of it.
  if (buffer.byteLength === byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/**
 * Frees the parts of the next stream that is piped into a message of HTTP/1.1, each when it has left this process. Those of
 * HTTP/2 may wait in several frames.
 */
export function releaseWritten(message: Writable | OutgoingMessage): void {
  if (!(message instanceof OutgoingMessage)) return;
  message.once('pipe', (source: Readable) => {
    let written: Uint8Array[] = [];
    // Before the pipe writes this part.
    source.prependListener('data', (part: Uint8Array) => {
      if (message.writableLength === 0) {
        for (const one of written) releaseBytes(one);
        written = [];
      }
      written.push(part);
    });
  });
}
