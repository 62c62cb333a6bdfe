import { execFile } from 'node:child_process';
import { type FSWatcher, watch } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { Home } from './instance-folder.ts';

/** After so much more was read, what was read is given back to the file system. */
const FREE_EVERY_BYTES = 4 * 1024 * 1024;
/** Of what was read, kept for those who ask what was written last. */
const KEPT_BYTES = 256 * 1024;
const CHUNK_BYTES = 64 * 1024;

/**
 * Follows what one instance writes to its file, from now on. What was read long ago becomes a hole in the file: places
 * in it stay what they are, so that nothing is lost while a game writes on, and the disk does not fill.
 */
export class OutputTail {
  readonly #home: Home;
  readonly #onOutput: (chunk: Buffer) => void;
  readonly #watcher: FSWatcher;
  #offset: number;
  #freed = 0;
  #now: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;
  #closed = false;
  readonly #ended = Promise.withResolvers<void>();

  static async open(home: Home, onOutput: (chunk: Buffer) => void): Promise<OutputTail> {
    const file = await open(home.path('out'));
    try {
      return new OutputTail(home, onOutput, (await file.stat()).size);
    } finally {
      await file.close();
    }
  }

  private constructor(home: Home, onOutput: (chunk: Buffer) => void, offset: number) {
    this.#home = home;
    this.#onOutput = onOutput;
    this.#offset = offset;
    this.#watcher = watch(home.path('out'), () => {
      this.drain().catch(() => this.close());
    });
    this.#watcher.on('error', () => this.close());
  }

  /** Everything that is there has been told when this resolves. */
  drain(): Promise<void> {
    // One at a time, and never more than one behind it: that one begins later, and sees all there is.
    this.#next ??= this.#now.then(() => {
      this.#now = this.#next ?? Promise.resolve();
      this.#next = null;
      return this.#read();
    });
    return this.#next;
  }

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  close(): void {
    this.#closed = true;
    this.#ended.resolve();
    this.#watcher.close();
  }

  async #read(): Promise<void> {
    const file = await open(this.#home.path('out')).catch(() => null);
    if (file === null) return;
    try {
      await this.#readFrom(file);
    } finally {
      await file.close();
    }
  }

  async #readFrom(file: FileHandle): Promise<void> {
    while (!this.#closed) {
      // A new one each time: whoever is told may keep it.
      const at = this.#offset;
      const { bytesRead, buffer } = await file.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, at);
      if (this.#closed || bytesRead === 0) break;
      this.#offset = at + bytesRead;
      this.#onOutput(buffer.subarray(0, bytesRead));
      if (this.#offset - this.#freed > FREE_EVERY_BYTES) await this.#free();
    }
  }

  async #free(): Promise<void> {
    this.#freed = this.#offset;
    const length = String(Math.max(1, this.#offset - KEPT_BYTES));
    const hole = ['--punch-hole', '--offset', '0', '--length', length];
    // Where the file system has no holes the file grows, and the game plays on.
    await promisify(execFile)('fallocate', [...hole, this.#home.path('out')]).catch(
      () => undefined,
    );
  }
}

/** What an instance wrote last, at most so many bytes. */
export async function readRecent(home: Home, maxBytes: number): Promise<Buffer> {
  const file = await open(home.path('out'));
  try {
    const { size } = await file.stat();
    const most = Math.min(maxBytes, KEPT_BYTES);
    const begin = Math.max(0, size - most);
    const room = Buffer.alloc(Math.min(size, most));
    const { bytesRead } = await file.read(room, 0, room.length, begin);
    return room.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
