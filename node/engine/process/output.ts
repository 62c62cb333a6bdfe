import { execFile } from 'node:child_process';
import { type FSWatcher, watch } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { InstanceFolder } from './instance-folder.ts';

/** Frees memory: what was read is freed each time this amount has been read. */
const FREE_EVERY_BYTES = 4 * 1024 * 1024;
/** The last output that stays in the file for `readRecent`. */
const KEPT_BYTES = 256 * 1024;
const CHUNK_BYTES = 64 * 1024;

/**
 * Follows the output file of one instance from its present end. Output that was read becomes a hole in the file: offsets
 * stay valid while the game writes, and the disk does not fill.
 */
export class OutputTail {
  readonly #folder: InstanceFolder;
  readonly #onOutput: (chunk: Buffer) => void;
  readonly #watcher: FSWatcher;
  #offset: number;
  #freed = 0;
  #now: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;
  #closed = false;
  readonly #ended = Promise.withResolvers<void>();

  static async open(
    folder: InstanceFolder,
    onOutput: (chunk: Buffer) => void,
  ): Promise<OutputTail> {
    const file = await open(folder.path('out'));
    try {
      return new OutputTail(folder, onOutput, (await file.stat()).size);
    } finally {
      await file.close();
    }
  }

  private constructor(folder: InstanceFolder, onOutput: (chunk: Buffer) => void, offset: number) {
    this.#folder = folder;
    this.#onOutput = onOutput;
    this.#offset = offset;
    this.#watcher = watch(folder.path('out'), () => {
      this.drain().catch(() => this.close());
    });
    this.#watcher.on('error', () => this.close());
  }

  /** Resolves when all present output has been reported. */
  drain(): Promise<void> {
    // At most one read waits behind the current one: it starts later and sees all output.
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
    const file = await open(this.#folder.path('out')).catch(() => null);
    if (file === null) return;
    try {
      await this.#readFrom(file);
    } finally {
      await file.close();
    }
  }

  async #readFrom(file: FileHandle): Promise<void> {
    while (!this.#closed) {
      // A new buffer for each read, because listeners may keep it.
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
    // On a file system without holes the file grows.
    await promisify(execFile)('fallocate', [...hole, this.#folder.path('out')]).catch(
      () => undefined,
    );
  }
}

/** Returns the last output of an instance. */
export async function readRecent(folder: InstanceFolder, maxBytes: number): Promise<Buffer> {
  const file = await open(folder.path('out'));
  try {
    const { size } = await file.stat();
    const most = Math.min(maxBytes, KEPT_BYTES);
    const begin = Math.max(0, size - most);
    const buffer = Buffer.alloc(Math.min(size, most));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, begin);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
