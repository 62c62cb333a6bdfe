import { changedKeys } from '../compile/changed-keys.ts';
import type { CompiledTarget } from '../nftables/policy/compiled.ts';
import { isSingle } from '../compile/match.ts';
import type { ServerPort } from './servers.ts';

type Targets = ReadonlyMap<string, CompiledTarget>;

/** Counts the filters incrementally: a change of one target inspects only that target. */
export class FilterInventory {
  #seen: Targets = new Map();
  readonly #unknown = new Map<string, number>();
  /** The number of filtered ports. */
  filters = 0;
  /** The number of targets with a SYN proxy. */
  proxied = 0;

  /** The filter types that this version does not know, sorted. */
  get unknown(): string[] {
    return [...this.#unknown.keys()].toSorted();
  }

  /** Returns the added and removed servers behind a SYN proxy. */
  update(after: Targets): { removed: ServerPort[]; added: ServerPort[] } {
    const changed = changedKeys(this.#seen, after);
    const old = changed.flatMap((name) => this.#seen.get(name) ?? []);
    const now = changed.flatMap((name) => after.get(name) ?? []);
    for (const target of old) this.#count(target, -1);
    for (const target of now) this.#count(target, 1);
    this.#seen = after;
    return { removed: old.flatMap(proxiedPorts), added: now.flatMap(proxiedPorts) };
  }

  #count({ filters }: CompiledTarget, sign: 1 | -1): void {
    this.filters += sign * filters.programs.size;
    if (filters.ports.has('synproxy')) this.proxied += sign;
    for (const type of filters.unknown) {
      const count = (this.#unknown.get(type) ?? 0) + sign;
      if (count === 0) this.#unknown.delete(type);
      else this.#unknown.set(type, count);
    }
  }
}

/** Returns no servers for a prefix: it has too many addresses to probe, so the proxy uses the options of Linux. */
function proxiedPorts({ target, cidr, filters }: CompiledTarget): ServerPort[] {
  if (!isSingle(cidr)) return [];
  return [...(filters.ports.get('synproxy') ?? [])].map((port) => ({ address: target, port }));
}
