import type { BigIntStats } from 'node:fs';
import {
  type FilePath,
  MAX_PATH_DEPTH,
  nameFromBytes,
} from '@portcullis/core/game-servers/files/path.ts';
import { type Entry, type Folder, type Name, Refusal } from '../server-folder/folder.ts';

/** An entry that a walk has reached. */
export interface Visit {
  /** The open folder that it is in; valid until the next visit. */
  readonly folder: Folder;
  readonly name: Buffer;
  /** From the folder where the walk began. */
  readonly path: FilePath;
  readonly stat: BigIntStats;
}

export interface WalkLimits {
  readonly maxEntries: number;
  readonly signal?: AbortSignal;
  /** Whether a folder is entered. Default: all. */
  readonly enters?: (path: FilePath) => boolean;
}

/** How often the agent gets to do other work. */
const PAUSE_ENTRIES = 256;

/**
 * Walks a folder in depth, each folder before its content. No link is followed, each folder is opened from its parent, and
 * what disappears meanwhile is left out. It ends at the limit of entries and of depth; `complete` says whether it did.
 */
export class TreeWalk {
  complete = true;
  readonly #limits: WalkLimits;
  #entries = 0;

  constructor(limits: WalkLimits) {
    this.#limits = limits;
  }

  /** Walks the content of an entry of a folder, if that is a folder; the entry itself is not visited. */
  async *of(parent: Folder, name: Name): AsyncGenerator<Visit> {
    const folder = await enter(parent, name);
    if (folder === null) return;
    try {
      yield* this.in(folder);
    } finally {
      await folder.close();
    }
  }

  /** Walks the content of a folder. */
  async *in(folder: Folder, above: FilePath = []): AsyncGenerator<Visit> {
    for await (const entry of folder.entries()) {
      if (!this.#goesOn()) return;
      if (this.#entries % PAUSE_ENTRIES === 0) await new Promise(setImmediate);
      const stat = await folder.stat(entry.name).catch(() => null);
      if (stat === null) continue;
      const path = [...above, nameFromBytes(entry.name)];
      yield { folder, name: entry.name, path, stat };
      if (stat.isDirectory()) yield* this.#descend(folder, entry, path);
    }
  }

  async *#descend(folder: Folder, { name }: Entry, path: FilePath): AsyncGenerator<Visit> {
    if (this.#limits.enters?.(path) === false) return;
    if (path.length >= MAX_PATH_DEPTH) {
      this.complete = false;
      return;
    }
    const next = await enter(folder, name);
    if (next === null) return;
    try {
      yield* this.in(next, path);
    } finally {
      await next.close();
    }
  }

  #goesOn(): boolean {
    this.#entries += 1;
    if (this.#entries <= this.#limits.maxEntries && this.#limits.signal?.aborted !== true)
      return true;
    this.complete = false;
    return false;
  }
}

/** Null for what is no folder, or none any more. */
async function enter(parent: Folder, name: Name): Promise<Folder | null> {
  try {
    return await parent.enter(name, null);
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

/** Folders below this depth are moved up before they are removed, so that few are open at a time. */
const REMOVE_DEPTH = 32;
/** Names may be added while a folder is emptied. */
const ROUNDS = 3;

/** Removes what is in a folder, however deep, but for entries of these names. Leaves what cannot be removed. */
export async function removeContentBut(top: Folder, kept: ReadonlySet<string>): Promise<void> {
  const counter = { moved: 0 };
  for (let round = 0; round < ROUNDS || counter.moved > 0; round += 1) {
    counter.moved = 0;
    let isEmpty = true;
    for await (const { name } of top.entries()) {
      if (kept.has(name.toString('latin1'))) continue;
      isEmpty = false;
      await removeTree(top, name, { top, counter, round }).catch(ignoreRefusal);
    }
    if (isEmpty) return;
  }
}

interface Removal {
  readonly top: Folder;
  readonly counter: { moved: number };
  readonly round: number;
}

async function removeTree(parent: Folder, name: Name, removal: Removal, depth = 0): Promise<void> {
  const stat = await parent.stat(name);
  if (stat?.isDirectory() !== true) return parent.remove(name);
  if (depth >= REMOVE_DEPTH) {
    removal.counter.moved += 1;
    return parent.move(name, removal.top, `deep-${removal.round}-${removal.counter.moved}`);
  }
  const folder = await parent.enter(name, null);
  if (folder === null) return;
  try {
    for await (const entry of folder.entries()) {
      await removeTree(folder, entry.name, removal, depth + 1).catch(ignoreRefusal);
    }
  } finally {
    await folder.close();
  }
  await parent.removeFolder(name);
}

function ignoreRefusal(error: unknown): void {
  if (!(error instanceof Refusal)) throw error;
}
