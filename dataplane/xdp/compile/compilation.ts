import type { Policy, RefusedTarget } from '@portcullis/core/firewall/policy.ts';
import { changedKeys } from '../../compile/changed-keys.ts';
import { PolicyError } from '../../compile/match.ts';
import { VersionedMap } from '../../compile/versioned-map.ts';
import { compileEarly, isTooComplex } from './compile.ts';
import { type EarlyTarget } from './early-target.ts';

/** Policies compiled before yielding: about a millisecond. */
const AT_A_TIME = 50;

/** Compiles policies to targets of the early drop. Compiles only what changed. */
export class EarlyCompilation {
  readonly #compiled = new WeakMap<Policy, EarlyTarget>();
  #policies: ReadonlyMap<string, Policy> = new Map();
  #refused: ReadonlyMap<string, number> = new Map();
  #targets = VersionedMap.from<EarlyTarget>([]);
  #tooComplex = 0;

  /** The number of targets with too many kinds of rules, which nftables alone evaluates. */
  get tooComplex(): number {
    return this.#tooComplex;
  }

  /** Compiles policies ahead of `of`. */
  async prepare(policies: Iterable<Policy>): Promise<EarlyTarget[]> {
    const targets: EarlyTarget[] = [];
    let count = 0;
    for (const policy of policies) {
      const compiled = this.#compile(policy);
      if (compiled !== undefined) targets.push(compiled);
      if (++count % AT_A_TIME === 0) await new Promise(setImmediate);
    }
    return targets;
  }

  /** `refused`: targets that nftables does not have, or has of an older generation. */
  of(
    policies: ReadonlyMap<string, Policy>,
    refused: readonly RefusedTarget[],
  ): VersionedMap<EarlyTarget> {
    const goodGenerations = new Map(
      refused.map(({ target, goodGeneration }) => [target, goodGeneration]),
    );
    const changed = new Set([
      ...changedKeys(this.#policies, policies),
      ...this.#refused.keys(),
      ...goodGenerations.keys(),
    ]);
    const changes = [...changed].map((name): [string, EarlyTarget | undefined] => {
      const policy = policies.get(name);
      if (policy === undefined) return [name, undefined];
      const good = goodGenerations.get(name);
      if (good === undefined) return [name, this.#compile(policy)];
      // Keeps the old version if nftables still has it.
      return [name, good > 0 ? inexact(this.#targets.get(name)) : undefined];
    });
    this.#policies = policies;
    this.#refused = goodGenerations;
    for (const [name, target] of changes) {
      this.#tooComplex +=
        Number(isTooComplex(target)) - Number(isTooComplex(this.#targets.get(name)));
    }
    this.#targets = this.#targets.with(changes);
    return this.#targets;
  }

  #compile(policy: Policy): EarlyTarget | undefined {
    const known = this.#compiled.get(policy);
    if (known !== undefined) return known;
    try {
      const compiled = compileEarly(policy);
      this.#compiled.set(policy, compiled);
      return compiled;
    } catch (error) {
      // nftables refused the policy too, or evaluates it alone.
      if (error instanceof PolicyError) return undefined;
      throw error;
    }
  }
}

/** nftables may have another version. */
function inexact(target: EarlyTarget | undefined): EarlyTarget | undefined {
  return target?.isExact === true ? { ...target, isExact: false } : target;
}
