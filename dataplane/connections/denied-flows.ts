import { describeKernelError } from '../kernel/describe-error.ts';
import type { EdgeView } from '@portcullis/core/firewall/decide/decide.ts';
import { deniesFlow, type FlowStart } from '@portcullis/core/firewall/denied-flow.ts';
import { parseCidr } from '@portcullis/core/net/cidr.ts';
import type { Log } from '@portcullis/core/log.ts';
import { changedKeys } from '../compile/changed-keys.ts';
import type { Desired } from '../desired.ts';
import type { Connection, Removal, RemovalResult } from '../kernel/netlink/conntrack.ts';
import type { CompiledTarget } from '../nftables/policy/compiled.ts';
import { Destinations } from './destinations.ts';
import type { DeniedMemory } from './denied-memory.ts';
import { flowOf, type OwnedConnections } from './owned-connections.ts';

export interface DeniedFlowsOptions {
  readonly log: Log;
  readonly sweep: (sweep: Removal) => Promise<RemovalResult>;
  readonly memory: DeniedMemory;
  /** Called at the start of each pass. */
  readonly openOwnedConnections: (devices: readonly string[]) => OwnedConnections;
  readonly localAddresses: () => readonly string[];
  /** The least interval between the starts of two passes. */
  readonly everyMs?: number;
}

/** The kernel state after an apply. */
export interface Enforced {
  readonly desired: Desired;
  readonly targets: ReadonlyMap<string, CompiledTarget>;
  readonly live: {
    /** Returns null before the first apply. */
    view(localAddresses: readonly string[]): EdgeView | null;
  };
  /** Reports a write of our table that does not change the desired state. */
  readonly wrote: () => void;
}

/** Delays the pass, so that the caller of the apply gets its answer first. */
const SETTLE_MS = 50;
const EVERY_MS = 1_000;
/**
 * The pause is three times the duration of the pass, so passes take 25% of the time, most of it waiting on a loaded
 * machine.
 */
const PAUSE_RATIO = 3;
/** Retries connections for which a set was full, or which the dump may have omitted. */
const RETRY_MS = 30_000;

/**
 * Deletes the conntrack entries of connections that the rules now deny. Their packets are evaluated anyway, so nothing
 * waits for this: passes follow the changes and handle many entries. A failure is only reported.
 */
export class DeniedFlows {
  readonly #options: DeniedFlowsOptions;
  /** The state of the last apply; null if nothing is enforced. */
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

  /** The number of connections deleted since the start. */
  get removed(): number {
    return this.#removed;
  }

  problems(): readonly string[] {
    return this.#problem === null ? [] : [this.#problem];
  }

  /** Called after each apply. The previous state is that of the previous call; before the first call it is unknown. */
  applied(enforced: Enforced): void {
    const before = this.#enforced;
    this.#enforced = enforced;
    if (before === null || evaluationDiffers(before.desired, enforced.desired)) {
      this.#changed.addAll();
    } else {
      for (const name of changedKeys(before.targets, enforced.targets)) this.#add(name);
      if (before.desired.sourceSets !== enforced.desired.sourceSets) {
        for (const [name, { geo }] of enforced.desired.policies)
          if (geo.length > 0) this.#add(name);
      }
    }
    if (!this.#changed.empty) this.#passAfter(SETTLE_MS);
  }

  /** Called when nothing is enforced any more. */
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

  #passAfter(ms: number): void {
    if (this.#stopped || this.#passing !== null) return;
    const nowMs = performance.now();
    const dueMs = Math.max(nowMs + ms, this.#notBeforeMs);
    if (this.#timer !== undefined && this.#dueMs <= dueMs) return;
    clearTimeout(this.#timer);
    this.#dueMs = dueMs;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#passing = this.#pass().then((retryMs) => {
        this.#passing = null;
        if (retryMs !== null) this.#passAfter(retryMs);
      });
    }, dueMs - nowMs);
    this.#timer.unref();
  }

  /** Resolves to the time of the next pass; null if it waits for a change. */
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
      const problem = `connections that became denied stay known: ${describeKernelError(error)}`;
      if (problem !== this.#problem) log.warn({ error }, 'denied connections are not forgotten');
      this.#problem = problem;
    }
    const nowMs = performance.now();
    this.#notBeforeMs = Math.max(beginMs + everyMs, nowMs + (nowMs - beginMs) * PAUSE_RATIO);
    const isNew = !this.#changed.empty;
    if (!whole && this.#enforced !== null) this.#changed.addFrom(changed);
    if (isNew) return 0;
    return whole || this.#problem !== null ? null : RETRY_MS;
  }

  async #sweep(
    { desired }: Enforced,
    edge: EdgeView,
    changed: Destinations,
  ): Promise<RemovalResult & { readonly wrote: boolean }> {
    const { sweep, memory, openOwnedConnections } = this.#options;
    const owned = openOwnedConnections(desired.settings.devices);
    const found: { readonly flow: FlowStart; readonly secondsLeft: number | null }[] = [];
    let [isAll, wrote] = [true, false];
    try {
      const swept = await sweep({
        mayMatch: (family, destination) => changed.has(family, destination),
        wanted: (connection: Connection) => {
          const flow = flowOf(connection);
          if (!deniesFlow(edge, flow) || !owned.isOwned(connection)) return false;
          found.push({ flow, secondsLeft: connection.secondsLeft });
          return true;
        },
        confirm: async (count) => {
          const flows = found.splice(0, count);
          // If the edge sees only incoming packets, every packet is evaluated by itself, and no connection lets one
          // pass.
          const remembered = desired.settings.sees === 'inbound' || (await memory.keep(flows));
          wrote ||= remembered && desired.settings.sees === 'both';
          isAll &&= remembered;
          return remembered && this.#enforced !== null && !this.#stopped;
        },
      });
      return { removed: swept.removed, isComplete: swept.isComplete && isAll, wrote };
    } finally {
      owned.close();
    }
  }
}

/** Whether the settings differ that select the evaluated packets, or those accepted before the policies. */
function evaluationDiffers({ settings: before }: Desired, { settings: now }: Desired): boolean {
  const { devices, management, sees } = now;
  const known = [before.devices, before.management, before.sees];
  return JSON.stringify(known) !== JSON.stringify([devices, management, sees]);
}
