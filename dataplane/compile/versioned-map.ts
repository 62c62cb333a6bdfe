/** With 100,000 entries, a change copies about a hundred. */
const SHARDS = 1024;
const NO_ENTRIES: ReadonlyMap<string, never> = new Map<string, never>();

/**
 * An immutable map. `with` makes a new version that shares all unchanged shards, so copying and comparing versions
 * cost only what changed.
 */
export class VersionedMap<V> implements ReadonlyMap<string, V> {
  readonly shards: readonly ReadonlyMap<string, V>[];
  readonly size: number;

  private constructor(shards: readonly ReadonlyMap<string, V>[], size: number) {
    this.shards = shards;
    this.size = size;
  }

  static from<V>(entries: Iterable<readonly [string, V]>): VersionedMap<V> {
    const shards = Array.from({ length: SHARDS }, (): ReadonlyMap<string, V> => NO_ENTRIES);
    return new VersionedMap(shards, 0).with(entries);
  }

  /** Adds or replaces entries; an undefined value removes the key. */
  with(changes: Iterable<readonly [string, V | undefined]>): VersionedMap<V> {
    const shards = [...this.shards];
    const own = new Map<number, Map<string, V>>();
    let { size } = this;
    for (const [key, value] of changes) {
      const index = shardOf(key);
      let shard = own.get(index);
      if (shard === undefined) {
        if (shards[index]?.get(key) === value) continue;
        shard = new Map(shards[index]);
        own.set(index, shard);
        shards[index] = shard;
      }
      const before = shard.size;
      if (value === undefined) shard.delete(key);
      else shard.set(key, value);
      size += shard.size - before;
    }
    return own.size === 0 ? this : new VersionedMap(shards, size);
  }

  get(key: string): V | undefined {
    return this.shards[shardOf(key)]?.get(key);
  }

  has(key: string): boolean {
    return this.shards[shardOf(key)]?.has(key) ?? false;
  }

  forEach(visit: (value: V, key: string, map: ReadonlyMap<string, V>) => void): void {
    for (const [key, value] of this) visit(value, key, this);
  }

  *entries(): Generator<[string, V], undefined> {
    for (const shard of this.shards) yield* shard;
    return undefined;
  }

  *keys(): Generator<string, undefined> {
    for (const shard of this.shards) yield* shard.keys();
    return undefined;
  }

  *values(): Generator<V, undefined> {
    for (const shard of this.shards) yield* shard.values();
    return undefined;
  }

  [Symbol.iterator](): Generator<[string, V], undefined> {
    return this.entries();
  }
}

/** FNV-1a. */
function shardOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at++) {
    hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  }
  return (hash ^ (hash >>> 16)) & (SHARDS - 1);
}
