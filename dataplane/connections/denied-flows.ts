import type { EdgeView } from '@portcullis/core/firewall/decide/decide.ts';
import { deniesFlow, type FlowStart } from '@portcullis/core/firewall/denied-flow.ts';
import { parseCidr } from '@portcullis/core/net/cidr.ts';
import { describeError, type Log } from '@portcullis/core/log.ts';
import { changedKeys } from '../compile/changed-keys.ts';
import type { Desired } from '../desired.ts';
import type { Connection, Removal, RemovalResult } from '../kernel/netlink/conntrack.ts';
import type { CompiledTarget } from '../nftables/policy/compiled.ts';
import { Destinations } from './destinations.ts';
import type { DeniedMemory } from './denied-memory.ts';
import { flowOf, type Judged } from './owned-connections.ts';

export interface DeniedFlowsOptions {
  readonly log: Log;
  readonly sweep: (sweep: Removal) => Promise<RemovalResult>;
  readonly memory: DeniedMemory;
  /** Opened for a pass. */
  readonly openJudged: (devices: readonly string[]) => Judged;
  readonly localAddresses: () => readonly string[];
  /** Between the beginnings of two passes, at least. */
  readonly everyMs?: number;
}

/** What an apply has brought into the kernel. */
export interface Enforced {
  readonly desired: Desired;
  readonly targets: ReadonlyMap<string, CompiledTarget>;
  readonly live: {
    /** Returns null before the first apply. */
    view(localAddresses: readonly string[]): EdgeView | null;
  };
  /** Our table was written to, without changing what is desired. */
  readonly wrote: () => void;
}

/** Behind the change that asks for it: whoever made it is told first. */
const SETTLE_MS = 50;
const EVERY_MS = 1_000;
/** Looking takes no more than a quarter of the time, which on a busy machine is mostly waiting. */
const PAUSES = 3;
/** What there was no room for, or what the kernel may not have shown. */
const AGAIN_MS = 30_000;

/**
 * Makes connection tracking forget what rules have come to deny. Every packet of it is judged anyway, so nothing waits
 * for this: it comes behind the changes, many at a time, and what fails is only told.
 */
export class DeniedFlows {
  readonly #options: DeniedFlowsOptions;
  /** As of the last apply; null: nothing is enforced. */
  #enforced: Enforced | null = null;
  #changed = new Destinations();
  #timer: NodeJS.Timeout | undefined;
  #passing: Promise<void> | null = null;
  #dueMs = 0;
  #notBeforeMs = -Infinity;
  #stopped = false;
  #removed = 0;
  #problem: string | null = null;

  constructor(options: DeniedFlowsOptions) {
    this.#options = options;
  }

  /** Connections that were forgotten, since the start. */
  get removed(): number {
    return this.#removed;
  }

  problems(): readonly string[] {
    return this.#problem === null ? [] : [this.#problem];
  }

  /** The kernel has this now. What it had before is what was told last; at first that is not known. */
  applied(enforced: Enforced): void {
    const before = this.#enforced;
    this.#enforced = enforced;
    if (before === null || isJudgedOtherwise(before.desired, enforced.desired)) {
      this.#changed.addAll();
    } else {
      for (const name of changedKeys(before.targets, enforced.targets)) this.#add(name);
      if (before.desired.sourceSets !== enforced.desired.sourceSets) {
        for (const [name, { geo }] of enforced.desired.policies)
          if (geo.length > 0) this.#add(name);
      }
    }
    if (!this.#changed.empty) this.#lookIn(SETTLE_MS);
  }

  /** Nothing is enforced any more. */
  forget(): void {
    this.#enforced = null;
    this.#changed = new Destinations();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#passing;
  }

  #add(target: string): void {
    const cidr = parseCidr(target);
    if (cidr.ok) this.#changed.add(cidr.value);
  }

  #lookIn(ms: number): void {
    if (this.#stopped || this.#passing !== null) return;
    const nowMs = performance.now();
    const dueMs = Math.max(nowMs + ms, this.#notBeforeMs);
    if (this.#timer !== undefined && this.#dueMs <= dueMs) return;
    clearTimeout(this.#timer);
    this.#dueMs = dueMs;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#passing = this.#pass().then((againMs) => {
        this.#passing = null;
        if (againMs !== null) this.#lookIn(againMs);
      });
    }, dueMs - nowMs);
    this.#timer.unref();
  }

  /** Resolves to when there is more to do; null: when something changes. */
  async #pass(): Promise<number | null> {
    const { everyMs = EVERY_MS, localAddresses, log } = this.#options;
    const enforced = this.#enforced;
    const edge = enforced?.live.view(localAddresses()) ?? null;
    if (enforced === null || edge === null) return null;
    const changed = this.#changed;
    this.#changed = new Destinations();
    const beginMs = performance.now();
    let whole = false;
    try {
      const swept = await this.#sweep(enforced, edge, changed);
      whole = swept.isComplete;
      this.#problem = null;
      this.#removed += swept.removed;
      const ms = performance.now() - beginMs;
      log.debug({ removed: swept.removed, ms }, 'forgot connections that are denied');
      if (swept.wrote) enforced.wrote();
    } catch (error) {
      const problem = `connections that became denied stay known: ${describeError(error)}`;
      if (problem !== this.#problem) log.warn({ error }, 'denied connections are not forgotten');
      this.#problem = problem;
    }
    const nowMs = performance.now();
    this.#notBeforeMs = Math.max(beginMs + everyMs, nowMs + (nowMs - beginMs) * PAUSES);
    const isNew = !this.#changed.empty;
    if (!whole && this.#enforced !== null) this.#changed.addFrom(changed);
    if (isNew) return 0;
    return whole || this.#problem !== null ? null : AGAIN_MS;
  }

  async #sweep(
    { desired }: Enforced,
    edge: EdgeView,
    changed: Destinations,
  ): Promise<RemovalResult & { readonly wrote: boolean }> {
    const { sweep, memory, openJudged } = this.#options;
    const judged = openJudged(desired.settings.devices);
    const found: { readonly flow: FlowStart; readonly secondsLeft: number | null }[] = [];
    let [isAll, wrote] = [true, false];
    try {
      const swept = await sweep({
        mayMatch: (family, destination) => changed.has(family, destination),
        wanted: (connection: Connection) => {
          const flow = flowOf(connection);
          if (!deniesFlow(edge, flow) || !judged.comesIn(connection)) return false;
          found.push({ flow, secondsLeft: connection.secondsLeft });
          return true;
        },
        confirm: async (count) => {
          const flows = found.splice(0, count);
          // Where every packet is judged by itself, no connection lets one pass.
          const kept = desired.settings.sees === 'inbound' || (await memory.keep(flows));
          wrote ||= kept && desired.settings.sees === 'both';
          isAll &&= kept;
          return kept && this.#enforced !== null && !this.#stopped;
        },
      });
      return { removed: swept.removed, isComplete: swept.isComplete && isAll, wrote };
    } finally {
      judged.close();
    }
  }
}

/** Who is judged at all, and what passes before the policies. */
function isJudgedOtherwise({ settings: before }: Desired, { settings: now }: Desired): boolean {
  const { devices, management, sees } = now;
  const known = [before.devices, before.management, before.sees];
  return JSON.stringify(known) !== JSON.stringify([devices, management, sees]);
}
