import type { Parsed } from '@portcullis/core/net/parsed.ts';
import { LinkError, MAX_MESSAGE_BYTES } from './transport.ts';

/**
 * How a message stands on a byte stream: its length in bytes (4, big-endian), then UTF-8 JSON.
 * A length is checked before anything is kept, so a peer cannot make us hold more than one message.
 */
const HEADER_BYTES = 4;
/** Throws `LinkError` `too_large`. */
export function encodeFrame(envelope: object): Buffer {
  const body = Buffer.from(JSON.stringify(envelope), 'utf8');
  if (body.length > MAX_MESSAGE_BYTES) {
    throw new LinkError(
      'too_large',
      `a message of ${body.length} bytes; ${MAX_MESSAGE_BYTES} is the most`,
    );
  }
  const frame = Buffer.allocUnsafe(HEADER_BYTES + body.length);
  frame.writeUInt32BE(body.length, 0);
  body.copy(frame, HEADER_BYTES);
  return frame;
}

/** Gathers chunks into frames. After a failure the stream has no meaning any more: end it. */
export class FrameReader {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #held = 0;

  constructor(maxBytes: number = MAX_MESSAGE_BYTES) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#held += chunk.length;
  }

  /** The next whole message, `null` while one is incomplete. */
  next(): Parsed<unknown> | null {
    if (this.#held < HEADER_BYTES) return null;
    const length = this.#peek(HEADER_BYTES).readUInt32BE(0);
    if (length > this.#maxBytes) return { ok: false, reason: `a frame of ${length} bytes` };
    if (this.#held < HEADER_BYTES + length) return null;
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
    this.#held -= bytes;
    if (all.length === bytes) this.#chunks.shift();
    else this.#chunks[0] = all.subarray(bytes);
    return all.subarray(0, bytes);
  }
}
