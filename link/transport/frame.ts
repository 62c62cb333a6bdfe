import type { Parsed } from '@portcullis/core/net/parsed.ts';
import { LinkError, MAX_MESSAGE_BYTES } from './transport.ts';

/**
 * A frame on a byte stream: the length of the message in bytes (4 bytes, big-endian), then the message as UTF-8 JSON.
 * The length is checked before the message is buffered, so a peer cannot make the reader buffer more than one message.
 */
const HEADER_BYTES = 4;
/** Throws `LinkError` `too_large`. */
export function encodeFrame(envelope: object, maxBytes: number = MAX_MESSAGE_BYTES): Buffer {
  const body = Buffer.from(JSON.stringify(envelope), 'utf8');
  if (body.length > maxBytes) {
    throw new LinkError('too_large', `a message of ${body.length} bytes; ${maxBytes} is the limit`);
  }
  const frame = Buffer.allocUnsafe(HEADER_BYTES + body.length);
  frame.writeUInt32BE(body.length, 0);
  body.copy(frame, HEADER_BYTES);
  return frame;
}

/** Joins chunks to frames. After a failure the rest of the stream cannot be read: close it. */
export class FrameReader {
  /** The most bytes of one message; may change between two messages. */
  maxBytes: number;
  #chunks: Buffer[] = [];
  #buffered = 0;

  constructor(maxBytes: number = MAX_MESSAGE_BYTES) {
    this.maxBytes = maxBytes;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
  }

  /** Returns the next complete message, or null while it is incomplete. */
  next(): Parsed<unknown> | null {
    if (this.#buffered < HEADER_BYTES) return null;
    const length = this.#peek(HEADER_BYTES).readUInt32BE(0);
    if (length > this.maxBytes) return { ok: false, reason: `a frame of ${length} bytes` };
    if (this.#buffered < HEADER_BYTES + length) return null;
    const frame = this.#take(HEADER_BYTES + length);
    try {
      return { ok: true, value: JSON.parse(frame.toString('utf8', HEADER_BYTES)) };
    } catch {
      return { ok: false, reason: 'a frame that is not JSON' };
    }
  }

  #peek(bytes: number): Buffer {
    const first = this.#chunks[0];
    if (first !== undefined && first.length >= bytes) return first;
    this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0] as Buffer;
  }

  #take(bytes: number): Buffer {
    const all = this.#peek(bytes);
    this.#buffered -= bytes;
    if (all.length === bytes) this.#chunks.shift();
    else this.#chunks[0] = all.subarray(bytes);
    return all.subarray(0, bytes);
  }
}
