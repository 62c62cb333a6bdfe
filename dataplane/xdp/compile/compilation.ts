import type { Policy, RefusedTarget } from '@portcullis/core/firewall/policy.ts';
import { changedKeys } from '../../compile/changed-keys.ts';
import { PolicyError } from '../../compile/match.ts';
import { VersionedMap } from '../../compile/versioned-map.ts';
import { compileEarly, isTooComplex } from './compile.ts';
import { type EarlyTarget } from './early-target.ts';

/** Policies in a row, before others get their turn: about a millisecond. */
const AT_A_TIME = 50;

/** What nftables judges by, as targets of the early drop. What did not change is not looked at again. */
export class EarlyCompilation {
  readonly #compiled = new WeakMap<Policy, EarlyTarget>();
  #policies: ReadonlyMap<string, Policy> = new Map();
  #refused: ReadonlyMap<string, number> = new Map();
  #targets = VersionedMap.from<EarlyTarget>([]);
  #tooComplex = 0;

  /** The number of targets whose rules have too many forms, so that nftables alone evaluates them. */
  get tooComplex(): number {
    return this.#tooComplex;
  }

  /** Compiles ahead what `of` will be asked for, and answers it. */
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

  /** `refused`: targets that nftables has not, or has as of an older generation. */
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
      // What it had, where nftables has it still.
      return [name, good > 0 ? this.#targets.get(name) : undefined];
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
      // nftables has refused it too, or judges it without us.
      if (error instanceof PolicyError) return undefined;
      throw error;
    }
  }
}
