import type { Policy } from '@portcullis/core/firewall/policy.ts';
import type { RefusedTarget } from '@portcullis/link/messages.ts';
import { changedKeys } from './changed-keys.ts';
import type { Desired } from './desired.ts';
import { isolate } from './isolate.ts';
import type { EdgeLimits } from './nftables/base-chain.ts';
import { type CompiledTarget, compilePolicy } from './nftables/compile.ts';
import { type Driver, DriverError } from './nftables/driver.ts';
import { DEFAULT_FILTERING, type Filtering } from './nftables/filters.ts';
import { LayoutDigest } from './nftables/digest.ts';
import { type Layout, planLayout } from './nftables/layout.ts';
import { PolicyError } from './nftables/match.ts';
import { keptState } from './nftables/kept-state.ts';
import { renderDelta, renderWhole, type Sizes } from './nftables/render.ts';
import type { KnownTable } from './state/kernel-record.ts';
import type { LoadedTable } from './state/table-text.ts';

/** What the kernel has after an apply. */
export interface Applied {
  readonly generation: number;
  /** These stay at their last good policy; everything else is at `generation`. */
  readonly refused: readonly RefusedTarget[];
  readonly policies: number;
  readonly elements: number;
}

type Targets = ReadonlyMap<string, CompiledTarget>;
type Reasons = Map<string, string>;

interface Loaded {
  readonly layout: Layout;
  readonly sizes: Sizes;
  readonly generation: number;
  /** Targets that are not at `generation`, and the one they are at. */
  readonly behind: ReadonlyMap<string, number>;
}

/**
 * Brings the kernel to what is desired. Depends on the desired state only; what it remembers of the kernel
 * merely saves work, and is forgotten (then the next write is whole) whenever it may be wrong.
 * One call at a time: the agent coalesces.
 */
export class Reconciler {
  readonly #driver: Driver;
  readonly #limits: EdgeLimits;
  #filtering: Filtering;
  /** By policy, of `#filtering`. */
  #compiled = new WeakMap<Policy, CompiledTarget>();
  readonly #stale = new Set<string>();
  #loaded: Loaded | null = null;
  /** Doubts about what we remember that came up, and how many of them the last write of ours answered. */
  #doubts = 1;
  #answered = 0;
  #expected: KnownTable | null = null;

  constructor(driver: Driver, limits: EdgeLimits, filtering: Partial<Filtering> = {}) {
    this.#driver = driver;
    this.#limits = limits;
    this.#filtering = { ...DEFAULT_FILTERING, ...filtering };
  }

  /** The table is gone, or somebody else may have touched it: the next write is whole. */
  doubt(): void {
    this.#expected = null;
    this.#doubts++;
  }

  get #inDoubt(): boolean {
    return this.#doubts > this.#answered;
  }

  /** Nothing of ours is in the kernel any more, the last good policies included. */
  forget(): void {
    this.#loaded = null;
    this.doubt();
  }

  /** What these targets compile to depends on more than their policies, and that has changed. */
  recompile(targets: Iterable<string>): void {
    for (const target of targets) this.#stale.add(target);
  }

  /** What the kernel was last given; null: nothing yet. */
  get targets(): Targets | null {
    return this.#loaded?.layout.targets ?? null;
  }

  /** The table as the kernel has it; null where that is not known. */
  async table(): Promise<LoadedTable | null> {
    const stamp = await this.#stamp();
    if (this.#inDoubt || this.#loaded === null) return null;
    const { layout, sizes } = this.#loaded;
    return { layout, sizes, stamp };
  }

  /** What the kernel is known to have had; where it still has that, the next apply is a delta of it. */
  expect(known: KnownTable | null): void {
    this.#expected = known;
  }

  /**
   * One transaction. Where the kernel refuses it: the whole table anew; then without the targets that are
   * at fault. Throws `DriverError` when that does not help either; the kernel then has what it had.
   */
  async apply(desired: Desired): Promise<Applied> {
    const reasons: Reasons = new Map();
    const wanted = this.#plan(desired, this.#compileAll(desired, reasons));
    if (reasons.size === 0) await this.#recognise(desired, wanted);
    try {
      await this.#load(desired, wanted, reasons);
    } catch (error) {
      if (!(error instanceof DriverError)) throw error;
      this.doubt();
      if (error.code !== 'refused') throw error;
      await this.#loadWithoutFaulty(desired, wanted, reasons);
    }
    return this.#applied(desired, reasons);
  }

  /** Renders everything and lets the kernel judge it where it can be asked; changes nothing. */
  async check(desired: Desired, askKernel: boolean): Promise<Applied> {
    const reasons: Reasons = new Map();
    const layout = this.#plan(desired, this.#compileAll(desired, reasons));
    const { text } = renderWhole(layout);
    if (askKernel) await this.#driver.check(text);
    const refused = [...reasons].map(([target, reason]) => ({ target, reason, goodGeneration: 0 }));
    return {
      generation: desired.generation,
      refused,
      policies: layout.targets.size,
      elements: layout.elements,
    };
  }

  #compileAll(desired: Desired, reasons: Reasons): Map<string, CompiledTarget> {
    this.#useFiltering({ ...this.#filtering, sees: desired.settings.sees });
    const targets = new Map<string, CompiledTarget>();
    for (const policy of desired.policies.values()) {
      try {
        targets.set(policy.target, this.#compile(policy));
      } catch (error) {
        if (!(error instanceof PolicyError)) throw error;
        reasons.set(policy.target, error.message);
        const good = this.#loaded?.layout.targets.get(policy.target);
        if (good !== undefined) targets.set(policy.target, good);
      }
    }
    return targets;
  }

  #useFiltering(filtering: Filtering): void {
    if (filtering.sees === this.#filtering.sees) return;
    this.#filtering = filtering;
    this.#compiled = new WeakMap();
  }

  #compile(policy: Policy): CompiledTarget {
    const known = this.#compiled.get(policy);
    if (known !== undefined && !this.#stale.delete(policy.target)) return known;
    const compiled = compilePolicy(policy, this.#filtering);
    this.#compiled.set(policy, compiled);
    return compiled;
  }

  #plan({ settings, sourceSets }: Desired, targets: Targets): Layout {
    const { devices, management, sees, fragments } = settings;
    const rules = { devices, management, sees, fragments, ...this.#limits };
    return planLayout(rules, targets, sourceSets, this.#loaded?.layout ?? null);
  }

  /** Takes the table for the one that would be written now, where it is. */
  async #recognise(desired: Desired, layout: Layout): Promise<void> {
    const known = this.#expected;
    this.#expected = null;
    if (known === null || (await new LayoutDigest().of(layout)) !== known.digest) return;
    // One that comes up while this is asked may be of what came after it.
    const doubts = this.#doubts;
    if ((await this.#stamp()) !== known.stamp) return;
    this.#answered = doubts;
    this.#remember(desired, layout, known.sizes, new Map());
  }

  async #stamp(): Promise<number | null> {
    try {
      return await this.#driver.stamp();
    } catch (error) {
      if (error instanceof DriverError) return null;
      throw error;
    }
  }

  /** A delta where what is there is known and a delta is possible, else the whole. */
  async #load(desired: Desired, layout: Layout, reasons: Reasons): Promise<void> {
    const before = this.#inDoubt ? null : this.#loaded;
    const delta =
      before === null
        ? null
        : renderDelta(
            before.layout,
            layout,
            changedKeys(before.layout.targets, layout.targets),
            before.sizes,
          );
    if (delta === null) return this.#loadWhole(desired, layout, reasons);
    try {
      await this.#driver.change(delta);
    } catch (error) {
      if (!(error instanceof DriverError) || error.code !== 'refused') throw error;
      // Perhaps what is there is not what we think.
      return this.#loadWhole(desired, layout, reasons);
    }
    this.#remember(desired, layout, delta.sizes, reasons);
  }

  async #loadWhole(desired: Desired, layout: Layout, reasons: Reasons): Promise<void> {
    // One that comes up while this is written may be of what came after it.
    const doubts = this.#doubts;
    const { text, sizes } = renderWhole(layout);
    await this.#driver.apply(`${text}${await keptState(this.#driver, layout)}`);
    this.#answered = doubts;
    this.#remember(desired, layout, sizes, reasons);
  }

  async #loadWithoutFaulty(desired: Desired, wanted: Layout, reasons: Reasons): Promise<void> {
    const good = this.#loaded?.layout.targets ?? new Map<string, CompiledTarget>();
    const kept = (names: ReadonlySet<string>): Layout => {
      const targets = new Map<string, CompiledTarget>();
      for (const [name, target] of wanted.targets) {
        const chosen = names.has(name) ? target : good.get(name);
        if (chosen !== undefined) targets.set(name, chosen);
      }
      return this.#plan(desired, targets);
    };
    const unchanged = [...wanted.targets.keys()].filter(
      (name) => good.get(name) === wanted.targets.get(name),
    );
    const changed = [...wanted.targets.keys()].filter(
      (name) => good.get(name) !== wanted.targets.get(name),
    );
    const verdict = await isolate(changed, async (names) => {
      const { text } = renderWhole(kept(new Set([...unchanged, ...names])));
      await this.#driver.check(text);
    });
    for (const [target, reason] of verdict.refused) reasons.set(target, reason);
    await this.#loadWhole(desired, kept(new Set([...unchanged, ...verdict.accepted])), reasons);
  }

  #remember(desired: Desired, layout: Layout, sizes: Sizes, reasons: Reasons): void {
    const before = this.#loaded;
    const behind = new Map(desired.behind);
    for (const target of reasons.keys()) {
      const had = before?.layout.targets.has(target) ?? false;
      behind.set(target, had ? (before?.behind.get(target) ?? before?.generation ?? 0) : 0);
    }
    this.#loaded = { layout, sizes, generation: desired.generation, behind };
  }

  #applied({ generation }: Desired, reasons: Reasons): Applied {
    const { layout, behind } = this.#loaded as Loaded;
    const refused = [...reasons].map(([target, reason]) => ({
      target,
      reason,
      goodGeneration: behind.get(target) ?? 0,
    }));
    return { generation, refused, policies: layout.targets.size, elements: layout.elements };
  }
}
