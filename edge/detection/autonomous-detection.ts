import type { MitigationAction } from '@portcullis/core/attacks/mitigation/actions.ts';
import { type AttackEvent, DEFAULT_THRESHOLDS } from '@portcullis/core/attacks/attack.ts';
import { planMitigations } from '@portcullis/core/attacks/mitigation/plan-mitigations.ts';
import type { Sample } from '@portcullis/core/attacks/sample.ts';
import type { Log } from '@portcullis/core/log.ts';
import type { CancelledAttack, WireAttack } from '@portcullis/link/messages/attacks.ts';
import type { SubjectTops } from '@portcullis/core/attacks/top-talkers.ts';
import type { WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { Desired } from '@portcullis/dataplane/desired.ts';
import { AttackJournal } from './journal.ts';
import { AttackLedger } from './ledger.ts';
import { CancelledAttacks } from './cancelled-attacks.ts';
import { createMachineClock } from '../switch/machine-clock.ts';
import {
  keyOfEntry,
  type OverlayEntry,
  type OverlayFacts,
  stepOverlay,
} from './overlay/overlay.ts';
import { OverlayPolicies } from './overlay/overlay-policies.ts';
import { OverlayStore } from './overlay/overlay-store.ts';
import { withTimeout } from './timeout.ts';

export interface AutonomousDetectionOptions {
  readonly folder: string;
  readonly log: Log;
  readonly tops: (subject: string) => SubjectTops | null;
  readonly scopeOf: (subject: string) => WatchScope | null;
  /** Every network with a holding of its own; the same array while nothing changes. */
  readonly held: () => readonly string[];
  /** Attacks whose mitigation an operator had cancelled at the last contact with control. */
  readonly cancelled: () => readonly CancelledAttack[];
  /** The overlay changed: the policies must be applied. */
  readonly changed: () => void;
}

/** The state of the connection to control in a bucket. */
export interface ControlContact {
  /** How long control has been answering. Null while it is away: then this edge acts. */
  readonly controlMs: number | null;
  /** The end of the newest bucket that control did not receive and that was not named before. Null: it received all. */
  readonly missedAtMs: number | null;
}

/** How often mitigations of an ongoing attack are planned again, and how often the disk is brought up to date. */
const PLAN_TICKS = 40;
const SAVE_TICKS = 120;
/** A larger deviation between two buckets means that the wall clock was set. */
const CLOCK_SET_MS = 1_000;
const HOLD_MS = 60_000;

/**
 * Detection and mitigation without the control plane. While control is away, the edge mitigates the attacks that it
 * detects itself, for a limited time, and keeps attacks and mitigations on disk. While control answers it only tracks
 * attacks, so that it can take over at once.
 */
export class AutonomousDetection {
  readonly #options: AutonomousDetectionOptions;
  readonly #journal: AttackJournal;
  readonly #store: OverlayStore;
  readonly #ledger: AttackLedger;
  readonly #clock = createMachineClock();
  readonly #policies = new OverlayPolicies();
  readonly #cancelled = new CancelledAttacks();
  readonly #planned = new Map<
    string,
    { readonly type: string; readonly plan: readonly MitigationAction[] }
  >();
  #entries: readonly OverlayEntry[];
  /** The entries in the desired state that is being applied. */
  #applying: readonly OverlayEntry[] = [];
  #desired: Desired | null = null;
  #ticks = 0;
  /** The wall clock and the monotonic clock at the last bucket. */
  #before: { readonly wallMs: number; readonly steadyMs: number } | null = null;

  constructor(options: AutonomousDetectionOptions) {
    const { folder, log, tops, scopeOf } = options;
    this.#options = options;
    this.#journal = new AttackJournal(folder, log);
    this.#store = new OverlayStore(folder, this.#clock, log);
    this.#entries = this.#store.load();
    const holdMsOf = (subject: string): number => scopeOf(subject)?.holdMs ?? HOLD_MS;
    this.#ledger = new AttackLedger({ tops, holdMsOf }, this.#journal.load());
  }

  /** The number of subjects with autonomous mitigations. */
  get count(): number {
    return this.#entries.length;
  }

  problems(): string[] {
    const { lost } = this.#ledger;
    const { problem } = this.#journal;
    return [
      ...(problem === null ? [] : [`Autonomously detected attacks cannot be saved: ${problem}.`]),
      ...(lost === 0
        ? []
        : [`${lost} autonomously detected attacks are in no report: there were too many.`]),
    ];
  }

  /** Takes the next bucket. */
  async step(
    sample: Sample,
    events: readonly AttackEvent[],
    { controlMs, missedAtMs }: ControlContact,
  ): Promise<void> {
    this.#followClock(sample.atMs);
    if (this.#ticks === 0) this.#ledger.mitigating(this.#entries, sample.atMs);
    const ended = this.#ledger.note(sample, events, controlMs === null ? sample.atMs : missedAtMs);
    this.#journal.save(this.#ledger.unsaved(false));
    const cancelled = this.#cancelled.step(this.#options.cancelled(), {
      durationMs: sample.durationMs,
      isControlThere: controlMs !== null,
      ongoing: this.#ledger.ongoing(),
    });
    await this.#mitigate({ ended, cancelled }, controlMs, sample.atMs);
    this.#journal.save(this.#ledger.unsaved(this.#ticks % SAVE_TICKS === SAVE_TICKS - 1));
    this.#ticks++;
  }

  unreported(): WireAttack[] {
    return this.#ledger.unreported();
  }

  acknowledged(attacks: readonly WireAttack[]): void {
    this.#journal.forget(this.#ledger.acknowledged(attacks));
    this.#journal.save(this.#ledger.unsaved(false));
  }

  /** Adds the overlay to the desired state. */
  addOverlay(desired: Desired): Desired {
    this.#desired = desired;
    this.#applying = this.#entries;
    return this.#policies.apply(desired, this.#entries, this.#options.held());
  }

  /** The kernel has the last result of `addOverlay`, except for the refused targets. */
  applied(refused: ReadonlySet<string>, atMs: number): void {
    const enforced = this.#applying
      .filter(({ mode }) => mode === 'enforce')
      .map(({ subject }) => subject)
      .filter((subject) => !refused.has(subject));
    if (enforced.length > 0) this.#ledger.mitigated(new Set(enforced), atMs);
  }

  async stop(): Promise<void> {
    this.#journal.save(this.#ledger.unsaved(true));
    await Promise.all([this.#journal.settled(), this.#store.settled()]);
  }

  async #mitigate(
    { ended, cancelled }: Pick<OverlayFacts, 'ended' | 'cancelled'>,
    controlMs: number | null,
    atMs: number,
  ): Promise<void> {
    const { scopeOf, changed, log } = this.#options;
    const isIdle = this.#entries.length === 0 && controlMs !== null;
    if (isIdle) return this.#planned.clear();
    const next = stepOverlay(this.#entries, {
      nowMs: this.#clock.nowMs(),
      controlMs,
      attacks: controlMs === null ? this.#wanted() : NONE,
      ended,
      cancelled,
      scopeOf,
      controlPolicyOf: (subject) => this.#desired?.policies.get(subject) ?? null,
    });
    if (next === this.#entries) return;
    const differs = keysOf(next) !== keysOf(this.#entries);
    // On disk first: an agent that starts after a kill must know what the kernel may have, and why.
    await withTimeout(Promise.all([this.#store.save(next), this.#journal.settled()]));
    this.#entries = next;
    if (!differs) return;
    log.warn({ subjects: next.map(({ subject }) => subject) }, 'autonomous mitigations changed');
    this.#ledger.mitigating(next, atMs);
    changed();
  }

  /** The planned actions by subject. A plan is renewed when the attack changes its type, and at intervals. */
  #wanted(): Map<string, readonly MitigationAction[]> {
    const { tops, scopeOf } = this.#options;
    const ongoing = this.#ledger.ongoing();
    const isDue = this.#ticks % PLAN_TICKS === 0;
    const wanted = new Map<string, readonly MitigationAction[]>();
    for (const [subject, attack] of ongoing) {
      const known = this.#planned.get(subject);
      const isKnown = known !== undefined && known.type === attack.type && !isDue;
      const thresholds = scopeOf(subject) ?? DEFAULT_THRESHOLDS;
      const own = isKnown ? known.plan : planMitigations(attack, tops(subject), { thresholds });
      this.#planned.set(subject, { type: attack.type, plan: own });
      wanted.set(subject, own);
    }
    for (const subject of this.#planned.keys()) {
      if (!ongoing.has(subject)) this.#planned.delete(subject);
    }
    return wanted;
  }

  #followClock(wallMs: number): void {
    const steadyMs = this.#clock.nowMs();
    const before = this.#before;
    this.#before = { wallMs, steadyMs };
    if (before === null) return;
    const jumpedMs = wallMs - before.wallMs - (steadyMs - before.steadyMs);
    if (Math.abs(jumpedMs) >= CLOCK_SET_MS) this.#ledger.shift(Math.round(jumpedMs));
  }
}

const NONE: ReadonlyMap<string, readonly MitigationAction[]> = new Map();

function keysOf(entries: readonly OverlayEntry[]): string {
  return entries.map(keyOfEntry).join('\n');
}
