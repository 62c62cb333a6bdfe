import type { Policy, RefusedTarget } from '@portcullis/core/firewall/policy.ts';
import { Compilation } from '@portcullis/dataplane/nftables/policy/compilation.ts';
import type { Desired } from '@portcullis/dataplane/desired.ts';
import { isolate } from './isolate.ts';
import type { EdgeLimits } from '@portcullis/dataplane/nftables/table/edge-rules.ts';
import type { CompiledTarget } from '@portcullis/dataplane/nftables/policy/compiled.ts';
import { type Driver, DriverError } from '@portcullis/dataplane/nftables/driver.ts';
import {
  DEFAULT_FILTERING,
  type Filtering,
} from '@portcullis/dataplane/nftables/filters/compile.ts';
import { LayoutDigest } from '@portcullis/dataplane/nftables/table/digest.ts';
import { type Layout, planLayout } from '@portcullis/dataplane/nftables/table/layout.ts';
import {
  addLearned,
  hasFilters,
} from '@portcullis/dataplane/nftables/elements/learned-elements.ts';
import type { LearnedMemory } from '@portcullis/dataplane/nftables/elements/learned-memory.ts';
import type { TableObjects } from '@portcullis/dataplane/nftables/table/objects.ts';
import { renderRewrite } from '@portcullis/dataplane/nftables/table/rewrite.ts';
import {
  renderDelta,
  type RenderedDelta,
  renderWhole,
  type Sizes,
} from '@portcullis/dataplane/nftables/table/render.ts';
import type { KnownTable } from '../state/kernel-record.ts';
import type { LoadedTable } from '../state/table-text.ts';
import { changedKeys } from '@portcullis/dataplane/compile/changed-keys.ts';
import { changedPorts } from '@portcullis/dataplane/filters/changes.ts';
import { VersionedMap } from '@portcullis/dataplane/compile/versioned-map.ts';

/** What the kernel has after an apply. */
export interface Applied {
  readonly generation: number;
  /** These stay at their last good policy; everything else is at `generation`. */
  readonly refused: readonly RefusedTarget[];
  readonly policies: number;
  readonly elements: number;
}

/** When the kernel is asked again about what it refused: memory that it lacked may be there. */
const RETRY_MS = 60_000;
/** What nft says when the table is not as we remember it; nobody's policy is at fault then. */
const DRIFT = /No such file or directory|File exists/;

interface Refused {
  readonly compiled: CompiledTarget;
  readonly reason: string;
  readonly atMs: number;
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
  readonly #compilation: Compilation;
  /** What the kernel did not take, and why; tried again when it has changed, or after a while. */
  readonly #refused = new Map<string, Refused>();
  #loaded: Loaded | null = null;
  /** Doubts about what we remember that came up, and how many of them the last write of ours answered. */
  #doubts = 1;
  #answered = 0;
  #expected: KnownTable | null = null;
  readonly #memory: LearnedMemory | null;

  /** `memory`: copies of learned elements, for when another program deletes the table. */
  constructor(
    driver: Driver,
    limits: EdgeLimits,
    filtering: Partial<Filtering> = {},
    memory: LearnedMemory | null = null,
  ) {
    this.#driver = driver;
    this.#memory = memory;
    this.#limits = limits;
    this.#compilation = new Compilation({ ...DEFAULT_FILTERING, ...filtering });
  }

  /** The table is gone, or somebody else may have touched it: the next write is whole. */
  invalidate(): void {
    this.#expected = null;
    this.#doubts++;
  }

  get #inDoubt(): boolean {
    return this.#doubts > this.#answered;
  }

  /** Nothing of ours is in the kernel any more, the last good policies included. */
  forget(): void {
    this.#loaded = null;
    this.#memory?.clear();
    this.invalidate();
  }

  /** What these targets compile to depends on more than their policies, and that has changed. */
  recompile(targets: Iterable<string>): void {
    this.#compilation.recompile(targets);
  }

  /** Spares the next `apply` work, of policies that it is going to be asked for. */
  compileAhead(policies: Iterable<Policy>, sees: Desired['settings']['sees']): void {
    this.#compilation.ahead(policies, sees);
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
    const before = this.targets;
    const wanted = this.#plan(desired, this.#compileAll(desired, reasons));
    if (reasons.size === 0) await this.#recognise(desired, wanted);
    try {
      await this.#load(desired, wanted, reasons);
    } catch (error) {
      if (!(error instanceof DriverError)) throw error;
      this.invalidate();
      if (error.code !== 'refused') throw error;
      await this.#loadWithoutFaulty(desired, wanted, reasons);
    }
    this.#forgetChanged(before, this.targets);
    return this.#applied(desired, reasons);
  }

  /** Who is validated where a filter changed begins anew. */
  #forgetChanged(before: Targets | null, after: Targets | null): void {
    if (after === null) return;
    if (before === null) return this.#memory?.watch(hasFilters(after));
    const ports = changedPorts(before, after, changedKeys(before, after));
    if (ports.length === 0) return;
    this.#memory?.forget(ports);
    this.#memory?.watch(hasFilters(after));
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

  /** Targets at what is desired, or at their last good policy where that is not possible. */
  #compileAll(desired: Desired, reasons: Reasons): VersionedMap<CompiledTarget> {
    const { targets, faults } = this.#compilation.of(desired.policies, desired.settings.sees);
    for (const [target, reason] of faults) reasons.set(target, reason);
    for (const [target, { compiled, reason, atMs }] of this.#refused) {
      const still = targets.get(target) === compiled && performance.now() - atMs < RETRY_MS;
      if (still) reasons.set(target, reason);
      else this.#refused.delete(target);
    }
    const good = this.#loaded?.layout.targets;
    return targets.with([...reasons.keys()].map((target) => [target, good?.get(target)]));
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
    const delta = before === null ? null : this.#deltaTo(before, layout);
    if (delta === null) return this.#loadWhole(desired, layout, reasons);
    try {
      await this.#driver.change(delta);
    } catch (error) {
      if (!(error instanceof DriverError) || error.code !== 'refused') throw error;
      const done = await this.#changeWithoutFaulty(desired, layout, reasons, error);
      // Perhaps what is there is not what we think.
      return done ? undefined : this.#loadWhole(desired, layout, reasons);
    }
    this.#remember(desired, layout, delta.sizes, reasons);
  }

  #deltaTo(before: Loaded, layout: Layout): RenderedDelta | null {
    const changed = changedKeys(before.layout.targets, layout.targets);
    return renderDelta(before.layout, layout, changed, before.sizes);
  }

  /** Finds by deltas what is at fault, and leaves it out. False: that says nothing about what is at fault. */
  async #changeWithoutFaulty(
    desired: Desired,
    wanted: Layout,
    reasons: Reasons,
    { message }: DriverError,
  ): Promise<boolean> {
    const before = this.#loaded;
    if (before === null || DRIFT.test(message)) return false;
    const changed = changedKeys(before.layout.targets, wanted.targets);
    const upTo = (names: Iterable<string>): Layout => {
      const changes = [...names].map((name) => [name, wanted.targets.get(name)] as const);
      return this.#plan(desired, versioned(before.layout.targets).with(changes));
    };
    try {
      const verdict = await isolate(changed, async (names) => {
        const delta = this.#deltaTo(before, upTo(names));
        if (delta === null) throw new DriverError('refused', 'a map has no room for it');
        await this.#driver.check(delta.text);
      });
      const layout = upTo(verdict.accepted);
      const delta = this.#deltaTo(before, layout);
      if (delta === null) return false;
      await this.#driver.change(delta);
      this.#refuse(verdict.refused, wanted, reasons);
      this.#remember(desired, layout, delta.sizes, reasons);
      return true;
    } catch (error) {
      if (!(error instanceof DriverError) || error.code !== 'refused') throw error;
      return false;
    }
  }

  #refuse(refused: ReadonlyMap<string, string>, wanted: Layout, reasons: Reasons): void {
    const atMs = performance.now();
    for (const [target, reason] of refused) {
      reasons.set(target, reason);
      const compiled = wanted.targets.get(target);
      if (compiled !== undefined) this.#refused.set(target, { compiled, reason, atMs });
    }
  }

  async #loadWhole(desired: Desired, layout: Layout, reasons: Reasons): Promise<void> {
    // One that comes up while this is written may be of what came after it.
    const doubts = this.#doubts;
    const there = await this.#driver.objects();
    const sizes = (await this.#rewrite(layout, there)) ?? (await this.#replace(layout));
    this.#answered = doubts;
    this.#remember(desired, layout, sizes, reasons);
  }

  /** Returns null if the table must be replaced: it is absent, or the kernel refuses to change it in place. */
  async #rewrite(layout: Layout, there: TableObjects | null): Promise<Sizes | null> {
    if (there === null) return null;
    const { text, sizes, recreated } = renderRewrite(layout, there);
    try {
      await this.#driver.apply(`${text}${await this.#restore(layout, recreated)}`);
      return sizes;
    } catch (error) {
      if (error instanceof DriverError && error.code === 'refused') return null;
      throw error;
    }
  }

  async #replace(layout: Layout): Promise<Sizes> {
    const { text, sizes } = renderWhole(layout);
    await this.#driver.apply(`${text}${await this.#restore(layout, null)}`);
    return sizes;
  }

  /** Refills sets of learned elements that the write creates. Null means all of them. */
  async #restore({ targets }: Layout, sets: ReadonlySet<string> | null): Promise<string> {
    if (sets?.size === 0) return '';
    const known = (await this.#memory?.recall(hasFilters(targets))) ?? [];
    return addLearned(known.filter(({ set }) => sets?.has(set) ?? true));
  }

  async #loadWithoutFaulty(desired: Desired, wanted: Layout, reasons: Reasons): Promise<void> {
    const good = this.#loaded?.layout.targets ?? new Map<string, CompiledTarget>();
    const changed = changedKeys(good, wanted.targets).filter((name) => wanted.targets.has(name));
    /** Everything wanted, but of what has changed only these. */
    const kept = (names: readonly string[]): Layout => {
      const left = new Set(changed);
      for (const name of names) left.delete(name);
      const back = [...left].map((name) => [name, good.get(name)] as const);
      return this.#plan(desired, versioned(wanted.targets).with(back));
    };
    const verdict = await isolate(changed, (names) =>
      this.#driver.check(renderWhole(kept(names)).text),
    );
    this.#refuse(verdict.refused, wanted, reasons);
    await this.#loadWhole(desired, kept(verdict.accepted), reasons);
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

function versioned<V>(map: ReadonlyMap<string, V>): VersionedMap<V> {
  return map instanceof VersionedMap ? map : VersionedMap.from(map);
}
