import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { type CompiledTarget, compilePolicy } from './nftables/compile.ts';
import type { Filtering } from './nftables/filters.ts';
import { PolicyError } from './nftables/match.ts';
import { changedKeys } from './changed-keys.ts';
import { VersionedMap } from './versioned-map.ts';

/** Policies and what they compile to. */
export interface Compiled {
  readonly targets: VersionedMap<CompiledTarget>;
  /** Of policies that make no sense, which are not among the targets: why. */
  readonly faults: ReadonlyMap<string, string>;
}

const NOTHING: Compiled = { targets: VersionedMap.from([]), faults: new Map() };

/** Compiles policies as they change: what did not change is not looked at again. */
export class Compilation {
  #filtering: Filtering;
  #policies: ReadonlyMap<string, Policy> = new Map();
  #compiled = NOTHING;
  readonly #stale = new Set<string>();

  constructor(filtering: Filtering) {
    this.#filtering = filtering;
  }

  /** What these targets compile to depends on more than their policies, and that has changed. */
  recompile(targets: Iterable<string>): void {
    for (const target of targets) this.#stale.add(target);
  }

  of(policies: ReadonlyMap<string, Policy>, sees: Filtering['sees']): Compiled {
    if (sees !== this.#filtering.sees) {
      this.#filtering = { ...this.#filtering, sees };
      this.#policies = new Map();
      this.#compiled = NOTHING;
    }
    const changed = new Set([...changedKeys(this.#policies, policies), ...this.#stale]);
    if (changed.size === 0) return this.#compiled;
    const faults = new Map(this.#compiled.faults);
    const changes = [...changed].map((name): [string, CompiledTarget | undefined] => {
      faults.delete(name);
      const policy = policies.get(name);
      return [name, policy && this.#compile(policy, faults)];
    });
    this.#policies = policies;
    this.#stale.clear();
    this.#compiled = { targets: this.#compiled.targets.with(changes), faults };
    return this.#compiled;
  }

  #compile(policy: Policy, faults: Map<string, string>): CompiledTarget | undefined {
    try {
      return compilePolicy(policy, this.#filtering);
    } catch (error) {
      if (!(error instanceof PolicyError)) throw error;
      faults.set(policy.target, error.message);
      return undefined;
    }
  }
}
