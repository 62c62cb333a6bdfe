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
  /** By target, so that a sync which never ends well keeps no more than one that does. */
  readonly #ahead = new Map<
    string,
    { readonly policy: Policy; readonly compiled: CompiledTarget }
  >();

  constructor(filtering: Filtering) {
    this.#filtering = filtering;
  }

  /** What these targets compile to depends on more than their policies, and that has changed. */
  recompile(targets: Iterable<string>): void {
    for (const target of targets) this.#stale.add(target);
    this.#ahead.clear();
  }

  /** Of these, new targets that `of` will be asked for, while there is nothing else to do. */
  ahead(policies: Iterable<Policy>, sees: Filtering['sees']): void {
    this.#see(sees);
    for (const policy of policies) {
      if (this.#compiled.targets.has(policy.target)) continue;
      // What is wrong with it is said when it is asked for.
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
