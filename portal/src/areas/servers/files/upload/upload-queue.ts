import type { LocalFile } from './dropped.ts';
import { FIRST_PART, nextPart, smallerPart } from './part-size.ts';

/** The operations of the service that an upload needs, for one server. */
export interface UploadTarget {
  /** The bytes of an unfinished upload of this size that the service keeps; 0 where it keeps none. */
  received(path: string, size: number, signal: AbortSignal): Promise<number>;
  /** Sends a part of a file; returns the bytes that the service has then. */
  send(part: Part, signal: AbortSignal): Promise<number>;
  makeFolder(path: string): Promise<unknown>;
  /** Removes what the service keeps of an unfinished upload. */
  abort(path: string): Promise<unknown>;
  /** How long to wait after a failure, the first since the last success being 1; null where another try is of no use. */
  pauseAfter(error: unknown, failures: number): number | null;
}

export interface Part {
  readonly path: string;
  readonly offset: number;
  readonly size: number;
  readonly bytes: Blob;
  /** Whether it may take the place of a file that is there. */
  readonly mayReplace: boolean;
}

export type UploadState = 'waiting' | 'running' | 'done' | 'failed' | 'cancelled';

export interface Upload {
  readonly id: number;
  /** Where it goes, from the folder of the server. */
  readonly path: string;
  readonly size: number;
  readonly sent: number;
  readonly state: UploadState;
  /** Why it failed. */
  readonly reason: string | null;
}

interface Item extends Upload {
  readonly file: File;
  readonly mayReplace: boolean;
  /** Whether an earlier attempt left a part at the service. */
  readonly isResumed: boolean;
}

interface Surroundings {
  now(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Whether this very file was begun before, by this browser. */
  wasBegun(path: string, file: File): boolean;
  begun(path: string, file: File): void;
  ended(path: string): void;
}

const AT_ONCE = 3;

/** The uploads to one server, which go on while other pages are shown. */
export class UploadQueue {
  readonly #target: UploadTarget;
  readonly #around: Surroundings;
  readonly #listeners = new Set<() => void>();
  readonly #running = new Map<number, AbortController>();
  #items: readonly Item[] = [];
  #lastId = 0;

  constructor(target: UploadTarget, around: Surroundings) {
    this.#target = target;
    this.#around = around;
  }

  /** The same array until something changes. */
  readonly list = (): readonly Upload[] => this.#items;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  add(files: readonly LocalFile[], mayReplace = false): void {
    const added = files.map(({ path, file }): Item => {
      this.#lastId += 1;
      const state = 'waiting' as const;
      const isResumed = this.#around.wasBegun(path, file);
      const { size } = file;
      const begun = { path, size, sent: 0, state, reason: null };
      return { ...begun, id: this.#lastId, file, mayReplace, isResumed };
    });
    this.#set([...this.#items, ...added]);
    this.#fill();
  }

  async addFolders(paths: readonly string[]): Promise<void> {
    for (const path of paths) await this.#target.makeFolder(path);
  }

  /** Ends one, or all that have not ended, and removes what the service has of them. */
  cancel(id?: number): void {
    for (const item of this.#items) {
      const isOpen =
        item.state === 'waiting' || item.state === 'running' || item.state === 'failed';
      if (!isOpen || (id !== undefined && item.id !== id)) continue;
      this.#running.get(item.id)?.abort();
      this.#change(item.id, { state: 'cancelled' });
      this.#around.ended(item.path);
      if (item.sent > 0) this.#target.abort(item.path).catch(() => {});
    }
    this.#fill();
  }

  /** Tries again what failed, from the byte that the service has. */
  retry(id?: number): void {
    for (const item of this.#items) {
      if (item.state !== 'failed' || (id !== undefined && item.id !== id)) continue;
      this.#change(item.id, { state: 'waiting', reason: null, isResumed: true });
    }
    this.#fill();
  }

  /** Forgets what has ended. */
  clear(): void {
    this.#set(this.#items.filter(({ state }) => state === 'waiting' || state === 'running'));
  }

  get isBusy(): boolean {
    return this.#items.some(({ state }) => state === 'waiting' || state === 'running');
  }

  #fill(): void {
    while (this.#running.size < AT_ONCE) {
      const next = this.#items.find(({ state }) => state === 'waiting');
      if (next === undefined) return;
      const stop = new AbortController();
      this.#running.set(next.id, stop);
      this.#change(next.id, { state: 'running' });
      void this.#run(next, stop.signal).finally(() => {
        this.#running.delete(next.id);
        this.#fill();
      });
    }
  }

  async #run(item: Item, signal: AbortSignal): Promise<void> {
    try {
      if (item.size > FIRST_PART) this.#around.begun(item.path, item.file);
      await this.#sendAll(item, signal);
      if (item.size > FIRST_PART) this.#around.ended(item.path);
      this.#change(item.id, { state: 'done', sent: item.size });
    } catch (error) {
      if (signal.aborted) return;
      const reason = error instanceof Error ? error.message : String(error);
      this.#change(item.id, { state: 'failed', reason });
    }
  }

  async #sendAll({ id, path, file, ...item }: Item, signal: AbortSignal): Promise<void> {
    const { size } = file;
    let offset = item.isResumed ? await this.#target.received(path, size, signal) : 0;
    let length = FIRST_PART;
    let failures = 0;
    do {
      this.#change(id, { sent: offset });
      const bytes = file.slice(offset, offset + length);
      const beganMs = this.#around.now();
      try {
        const part = { path, offset, size, bytes, mayReplace: item.mayReplace };
        offset = await this.#target.send(part, signal);
        length = nextPart(length, this.#around.now() - beganMs);
        failures = 0;
      } catch (error) {
        failures += 1;
        const pauseMs = this.#target.pauseAfter(error, failures);
        if (signal.aborted || pauseMs === null) throw error;
        await this.#around.sleep(pauseMs, signal);
        length = smallerPart(length);
        offset = await this.#target.received(path, size, signal);
      }
    } while (offset < size);
  }

  #change(id: number, changes: Partial<Item>): void {
    this.#set(
      this.#items.map((item) =>
        item.id === id && item.state !== 'cancelled' ? { ...item, ...changes } : item,
      ),
    );
  }

  #set(items: readonly Item[]): void {
    this.#items = items;
    for (const listener of this.#listeners) listener();
  }
}
