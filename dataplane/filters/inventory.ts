import { changedKeys } from '../compile/changed-keys.ts';
import type { CompiledTarget } from '../nftables/policy/compiled.ts';
import { isSingle } from '../compile/match.ts';
import type { ServerPort } from './servers.ts';

type Targets = ReadonlyMap<string, CompiledTarget>;

/** What filters there are, counted on from version to version: a change of one target looks at that one. */
export class FilterInventory {
  #seen: Targets = new Map();
  readonly #unknown = new Map<string, number>();
  /** Filtered ports. */
  filters = 0;
  /** Targets with a SYN proxy. */
  proxied = 0;

  /** Types that this version does not know, sorted. */
  get unknown(): string[] {
    return [...this.#unknown.keys()].toSorted();
  }

  /** Answers the servers to ask no more, and those that came. */
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

/** Members of a prefix are too many to be asked: for them the proxy speaks as Linux does. */
function proxiedPorts({ target, cidr, filters }: CompiledTarget): ServerPort[] {
  if (!isSingle(cidr)) return [];
  return [...(filters.ports.get('synproxy') ?? [])].map((port) => ({ address: target, port }));
}
