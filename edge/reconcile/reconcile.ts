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
import { addDenied, DENIED } from '@portcullis/dataplane/connections/denied-memory.ts';
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
import { stateSet } from '@portcullis/dataplane/nftables/filters/state.ts';
import type { DeniedFlowFile } from '../state/denied-flow-file.ts';
import { VersionedMap } from '@portcullis/dataplane/compile/versioned-map.ts';

/** The result of an apply. */
export interface Applied {
  readonly generation: number;
  /** These targets stay at their last accepted policy; all others are at `generation`. */
  readonly refused: readonly RefusedTarget[];
  readonly policies: number;
  readonly elements: number;
}

/** The time until a refused target is tried again; the kernel may have lacked memory. */
const RETRY_MS = 60_000;
const FAMILIES = [4, 6] as const;
/** The errors of nft if the table differs from the expected one. No policy is at fault then. */
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
  /** The targets that are not at `generation`, with their own generation. */
  readonly behind: ReadonlyMap<string, number>;
}

/**
 * Brings the kernel to the desired state. The result depends only on that state. What the reconciler knows of the
 * kernel only saves work; if it may be wrong, it is discarded and the next write is whole. One call at a time: the
 * agent coalesces.
 */
export class Reconciler {
  readonly #driver: Driver;
  readonly #limits: EdgeLimits;
  readonly #compilation: Compilation;
  /** The refused policies with their errors; tried again after a change, and after a while. */
  readonly #refused = new Map<string, Refused>();
  #loaded: Loaded | null = null;
  /** The number of events that made the known table uncertain, and how many of them the last write covered. */
  #invalidations = 1;
  #coveredInvalidations = 0;
  #expected: KnownTable | null = null;
  readonly #deniedFlows: Pick<DeniedFlowFile, 'recall'> | null;

  /** `deniedFlows`: what a new table must know. Sources that filters validated are validated again. */
  constructor(
    driver: Driver,
    limits: EdgeLimits,
    filtering: Partial<Filtering> = {},
    deniedFlows: Pick<DeniedFlowFile, 'recall'> | null = null,
  ) {
    this.#driver = driver;
    this.#deniedFlows = deniedFlows;
    this.#limits = limits;
    this.#compilation = new Compilation({ ...DEFAULT_FILTERING, ...filtering });
  }

  /** The table was deleted or perhaps changed by another program: the next write is whole. */
  invalidate(): void {
    this.#expected = null;
    this.#invalidations++;
  }

  get #isUncertain(): boolean {
    return this.#invalidations > this.#coveredInvalidations;
  }

  /** The table was removed, and with it the last accepted policies. */
  forget(): void {
    this.#loaded = null;
    this.invalidate();
  }

  /** Recompiles these targets: an input other than their policies has changed. */
  recompile(targets: Iterable<string>): void {
    this.#compilation.recompile(targets);
  }

  /** Compiles policies ahead of the next `apply`. */
  compileAhead(policies: Iterable<Policy>, sees: Desired['settings']['sees']): void {
    this.#compilation.ahead(policies, sees);
  }

  /** The targets of the last write; null before it. */
  get targets(): Targets | null {
    return this.#loaded?.layout.targets ?? null;
  }

  /** The present table of the kernel; null if it is unknown. */
  async table(): Promise<LoadedTable | null> {
    const stamp = await this.#stamp();
    if (this.#isUncertain || this.#loaded === null) return null;
    const { layout, sizes } = this.#loaded;
    return { layout, sizes, stamp };
  }

  /**
   * The table that the kernel had before a restart. If it is unchanged, the next apply is a delta. Call it before anything
   * of this process writes to the kernel, and after the table is watched.
   */
  async expect(known: KnownTable | null): Promise<void> {
    if (known !== null && (await this.#stamp()) === known.stamp) this.#expected = known;
  }

  /**
   * Applies the desired state in one transaction. If the kernel refuses it, writes the whole table, and then the table
   * without the faulty targets. Throws `DriverError` if that fails too; the kernel then keeps its previous state.
   */
  async apply(desired: Desired): Promise<Applied> {
    const reasons: Reasons = new Map();
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
    return this.#applied(desired, reasons);
  }

  /** Renders everything and validates it in the kernel if possible. Changes nothing. */
  async check(desired: Desired, useKernel: boolean): Promise<Applied> {
    const reasons: Reasons = new Map();
    const layout = this.#plan(desired, this.#compileAll(desired, reasons));
    const { text } = renderWhole(layout);
    if (useKernel) await this.#driver.check(text);
    const refused = [...reasons].map(([target, reason]) => ({ target, reason, goodGeneration: 0 }));
    return {
      generation: desired.generation,
      refused,
      policies: layout.targets.size,
      elements: layout.elements,
    };
  }

  /** The targets with their desired policy, or with the last accepted one if that is not possible. */
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

  /** Adopts the present table if it is the one that would be written. */
  async #recognise(desired: Desired, layout: Layout): Promise<void> {
    const known = this.#expected;
    if (known === null) return;
    const digest = await new LayoutDigest().of(layout);
    // Reads what others have changed since. A change of our table is an invalidation, which clears what is expected.
    await this.#stamp();
    const isUnchanged = this.#expected === known;
    this.#expected = null;
    if (!isUnchanged || digest !== known.digest) return;
    this.#coveredInvalidations = this.#invalidations;
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

  /** Writes a delta if the present table is known and a delta is possible, otherwise the whole table. */
  async #load(desired: Desired, layout: Layout, reasons: Reasons): Promise<void> {
    const before = this.#isUncertain ? null : this.#loaded;
    const delta = before === null ? null : this.#deltaTo(before, layout);
    if (before === null || delta === null) return this.#loadWhole(desired, layout, reasons);
    if (changesNothing(delta, before.layout, layout)) {
      // The same object, so that nobody looks for differences in the next one, or records it again.
      return this.#remember(desired, before.layout, before.sizes, reasons);
    }
    try {
      await this.#driver.change(delta);
    } catch (error) {
      if (!(error instanceof DriverError) || error.code !== 'refused') throw error;
      const done = await this.#changeWithoutFaulty(desired, layout, reasons, error);
      // The present table may differ from the known one.
      return done ? undefined : this.#loadWhole(desired, layout, reasons);
    }
    this.#remember(desired, layout, delta.sizes, reasons);
  }

  #deltaTo(before: Loaded, layout: Layout): RenderedDelta | null {
    const changed = changedKeys(before.layout.targets, layout.targets);
    return renderDelta(before.layout, layout, changed, before.sizes);
  }

  /** Finds the faulty targets by deltas and omits them. Resolves to false if the deltas do not identify them. */
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
        if (delta === null) throw new DriverError('refused', 'a map would exceed its size');
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
    // An invalidation during the write may be about a later change.
    const invalidations = this.#invalidations;
    const there = await this.#driver.objects();
    const sizes = (await this.#rewrite(layout, there)) ?? (await this.#replace(layout));
    this.#coveredInvalidations = invalidations;
    this.#remember(desired, layout, sizes, reasons);
  }

  /** Returns null if the table must be replaced: it is absent, or the kernel refuses to change it in place. */
  async #rewrite(layout: Layout, there: TableObjects | null): Promise<Sizes | null> {
    if (there === null) return null;
    const { text, sizes, recreated } = renderRewrite(layout, there);
    try {
      await this.#driver.apply(`${text}${await this.#denied(recreated)}`);
      return sizes;
    } catch (error) {
      if (error instanceof DriverError && error.code === 'refused') return null;
      throw error;
    }
  }

  async #replace(layout: Layout): Promise<Sizes> {
    const { text, sizes } = renderWhole(layout);
    await this.#driver.apply(`${text}${await this.#denied(null)}`);
    return sizes;
  }

  /** Refills the sets of denied flows that the write creates; null means all. */
  async #denied(sets: ReadonlySet<string> | null): Promise<string> {
    const isCreated = (set: string): boolean => sets?.has(set) ?? true;
    if (!FAMILIES.some((family) => DENIED.some((state) => isCreated(stateSet(state, family)))))
      return '';
    const known = (await this.#deniedFlows?.recall()) ?? [];
    return addDenied(known.filter(({ set }) => isCreated(set)));
  }

  async #loadWithoutFaulty(desired: Desired, wanted: Layout, reasons: Reasons): Promise<void> {
    const good = this.#loaded?.layout.targets ?? new Map<string, CompiledTarget>();
    const changed = changedKeys(good, wanted.targets).filter((name) => wanted.targets.has(name));
    /** All unchanged targets, and only these of the changed ones. */
    const layoutOf = (names: readonly string[]): Layout => {
      const left = new Set(changed);
      for (const name of names) left.delete(name);
      const back = [...left].map((name) => [name, good.get(name)] as const);
      return this.#plan(desired, versioned(wanted.targets).with(back));
    };
    const verdict = await isolate(changed, (names) =>
      this.#driver.check(renderWhole(layoutOf(names)).text),
    );
    this.#refuse(verdict.refused, wanted, reasons);
    await this.#loadWhole(desired, layoutOf(verdict.accepted), reasons);
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

function changesNothing({ text }: RenderedDelta, before: Layout, after: Layout): boolean {
  return (
    text === '' &&
    before.sourceSets === after.sourceSets &&
    changedKeys(before.targets, after.targets).length === 0
  );
}

function versioned<V>(map: ReadonlyMap<string, V>): VersionedMap<V> {
  return map instanceof VersionedMap ? map : VersionedMap.from(map);
}
