import type { FileHandle } from 'node:fs/promises';
import { Writable } from 'node:stream';
import type { RunningJob } from '../jobs.ts';
import { GrowingGrant, type Quota } from '../quota.ts';

/** Bytes that are taken from the quota at a time. */
const STEP_BYTES = 4 * 1024 * 1024;

/** Writes to a file whose size nobody knows before, and takes the quota for it as it grows. */
export class QuotaSink {
  readonly #handle: FileHandle;
  readonly #grant: GrowingGrant;
  readonly #job: RunningJob;
  #grantedBytes = 0;
  written = 0;

  constructor(handle: FileHandle, quota: Quota, job: RunningJob) {
    this.#handle = handle;
    this.#grant = new GrowingGrant(quota);
    this.#job = job;
  }

  /** Takes the quota for the file itself, which an empty one needs too. */
  begin(): Promise<void> {
    return this.#reserve(0);
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#job.signal.throwIfAborted();
    await this.#reserve(chunk.length);
    await this.#handle.writeFile(chunk);
    this.written += chunk.length;
    this.#job.add({ bytes: chunk.length });
  }

  /** Counts what was written as used. */
  close(): void {
    this.#grant.close({ bytes: this.written, entries: 1 });
  }

  /** A stream whose chunks are written here. */
  asStream(): Writable {
    return new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        void this.#writeThen(chunk, done);
      },
    });
  }

  async #writeThen(chunk: Buffer, done: (error?: Error) => void): Promise<void> {
    let failure: Error | undefined;
    try {
      await this.write(chunk);
    } catch (error) {
      failure = error as Error;
    }
    done(failure);
  }

  async #reserve(bytes: number): Promise<void> {
    if (this.#grant.isTaken && this.written + bytes <= this.#grantedBytes) return;
    const wanted = Math.max(this.written + bytes, this.#grantedBytes + STEP_BYTES);
    this.#grant.giveBack({ bytes: 0, entries: 0 });
    try {
      await this.#grant.take({ bytes: wanted, entries: 1 });
      this.#grantedBytes = wanted;
    } catch {
      // The last step before the limit may be smaller than a whole one.
      await this.#grant.take({ bytes: this.written + bytes, entries: 1 });
      this.#grantedBytes = this.written + bytes;
    }
  }
}
