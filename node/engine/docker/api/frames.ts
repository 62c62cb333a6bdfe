const HEADER_BYTES = 8;

/**
 * Extracts the payload of Docker's frames for containers without a terminal: a stream number, three zeros, a big-endian
 * length, then that many bytes. Payload is passed on as it arrives and never buffered, whatever the length says.
 */
export class FrameReader {
  readonly #onPayload: (chunk: Buffer) => void;
  #header = Buffer.alloc(0);
  #left = 0;

  constructor(onPayload: (chunk: Buffer) => void) {
    this.#onPayload = onPayload;
  }

  push(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#left === 0) rest = this.#readHeader(rest);
      if (this.#left === 0) continue;
      const payload = rest.subarray(0, this.#left);
      if (payload.length > 0) this.#onPayload(payload);
      this.#left -= payload.length;
      rest = rest.subarray(payload.length);
    }
  }

  #readHeader(chunk: Buffer): Buffer {
    const missing = HEADER_BYTES - this.#header.length;
    this.#header = Buffer.concat([this.#header, chunk.subarray(0, missing)]);
    if (this.#header.length === HEADER_BYTES) {
      this.#left = this.#header.readUInt32BE(4);
      this.#header = Buffer.alloc(0);
    }
    return chunk.subarray(missing);
  }
}
