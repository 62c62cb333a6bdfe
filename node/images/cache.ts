import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where root's services may write: their units close homes. */
const OF_ROOT = '/var/cache';

/**
 * Files that are kept between builds, below the cache folder of the account: Debian's lists, the packages and the
 * layers of the present set. It never holds more: what no recipe names any more is removed.
 */
export interface Cache {
  /** State, lists and packages, as apt lays them out. */
  readonly apt: string;
  readonly layers: string;
  /** For what is being made. */
  readonly work: string;
  readonly lock: string;
}

export function openCache(
  home = process.env['XDG_CACHE_HOME'] ??
    (process.getuid?.() === 0 ? OF_ROOT : join(homedir(), '.cache')),
): Cache {
  const root = join(home, 'portcullis', 'images');
  const cache = {
    apt: join(root, 'apt'),
    layers: join(root, 'layers'),
    work: join(root, 'work'),
    lock: join(root, 'lock'),
  };
  mkdirSync(cache.layers, { recursive: true });
  return cache;
}

/**
 * Does the work while nobody else uses the cache: one after the other, also of other processes. The kernel gives the
 * lock back when its holder ends, however that comes.
 */
export async function withCache<T>(cache: Cache, work: () => Promise<T>): Promise<T> {
  const holder = spawn('flock', [cache.lock, 'sh', '-c', 'echo held; exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(holder, 'exit');
  try {
    const held = once(holder.stdout, 'data').then(() => true);
    if (!(await Promise.race([held, ended.then(() => false)])))
      throw new Error(`${cache.lock} cannot be locked`);
    // Of one that was killed at it.
    rmSync(cache.work, { recursive: true, force: true });
    mkdirSync(cache.work);
    return await work();
  } finally {
    holder.stdin.end();
    await ended;
  }
}

/** Removes everything of the folder but these names. */
export function keepOnly(folder: string, names: ReadonlySet<string>): void {
  for (const name of readdirSync(folder))
    if (!names.has(name)) rmSync(join(folder, name), { recursive: true, force: true });
}

export function digestOf(...parts: readonly (string | Buffer)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(`${part.length}:`).update(part);
  return hash.digest('hex');
}
