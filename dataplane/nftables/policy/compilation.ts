import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { type CompiledTarget } from './compiled.ts';
import { compilePolicy } from './compile.ts';
import type { Filtering } from '../filters/compile.ts';
import { PolicyError } from '../../compile/match.ts';
import { changedKeys } from '../../compile/changed-keys.ts';
import { VersionedMap } from '../../compile/versioned-map.ts';

/** Policies and what they compile to. */
export interface Compiled {
  readonly targets: VersionedMap<CompiledTarget>;
  /** The errors of invalid policies, which are not among the targets. */
  readonly faults: ReadonlyMap<string, string>;
}

const NOTHING: Compiled = { targets: VersionedMap.from([]), faults: new Map() };

/** Compiles policies incrementally: an unchanged policy is not compiled again. */
export class Compilation {
  #filtering: Filtering;
  #policies: ReadonlyMap<string, Policy> = new Map();
  #compiled = NOTHING;
  readonly #stale = new Set<string>();
  /** Policies compiled ahead. Keyed by target, so that an endless sync uses no more memory than a complete one. */
  readonly #ahead = new Map<
    string,
    { readonly policy: Policy; readonly compiled: CompiledTarget }
  >();

  constructor(filtering: Filtering) {
    this.#filtering = filtering;
  }

  /** Recompiles these targets: an input other than their policies has changed. */
  recompile(targets: Iterable<string>): void {
    for (const target of targets) this.#stale.add(target);
    this.#ahead.clear();
  }

  /** Compiles new targets of these policies ahead of the next `of`. */
  ahead(policies: Iterable<Policy>, sees: Filtering['sees']): void {
    this.#see(sees);
    for (const policy of policies) {
      if (this.#compiled.targets.has(policy.target)) continue;
      // `of` reports the error.
      const compiled = this.#compile(policy, new Map());
      if (compiled !== undefined) this.#ahead.set(policy.target, { policy, compiled });
    }
  }

  of(policies: ReadonlyMap<string, Policy>, sees: Filtering['sees']): Compiled {
    this.#see(sees);
    const changed = new Set([...changedKeys(this.#policies, policies), ...this.#stale]);
    if (changed.size === 0) return this.#compiled;
    const faults = new Map(this.#compiled.faults);
    const changes = [...changed].map((name): [string, CompiledTarget | undefined] => {
      faults.delete(name);
      const policy = policies.get(name);
      return [name, policy && (this.#compiledAhead(policy) ?? this.#compile(policy, faults))];
    });
    this.#policies = policies;
    this.#stale.clear();
    this.#ahead.clear();
    this.#compiled = { targets: this.#compiled.targets.with(changes), faults };
    return this.#compiled;
  }

  #see(sees: Filtering['sees']): void {
    if (sees === this.#filtering.sees) return;
    this.#filtering = { ...this.#filtering, sees };
    this.#policies = new Map();
    this.#compiled = NOTHING;
    this.#ahead.clear();
  }

  #compiledAhead(policy: Policy): CompiledTarget | undefined {
    const ahead = this.#ahead.get(policy.target);
    return ahead?.policy === policy ? ahead.compiled : undefined;
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
