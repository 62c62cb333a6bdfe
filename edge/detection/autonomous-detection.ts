import type { MitigationAction } from '@portcullis/core/attacks/actions.ts';
import { type AttackEvent, DEFAULT_THRESHOLDS } from '@portcullis/core/attacks/attack.ts';
import { planMitigations } from '@portcullis/core/attacks/respond.ts';
import type { Sample } from '@portcullis/core/attacks/sample.ts';
import type { Log } from '@portcullis/core/log.ts';
import type { CancelledAttack, WireAttack } from '@portcullis/link/messages/attacks.ts';
import type { SubjectTops } from '@portcullis/core/attacks/top-talkers.ts';
import type { WatchScope } from '@portcullis/core/attacks/scope-settings.ts';
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
import { withPatience } from './patience.ts';

export interface LoneWatchOptions {
  readonly folder: string;
  readonly log: Log;
  readonly tops: (subject: string) => SubjectTops | null;
  readonly scopeOf: (subject: string) => WatchScope | null;
  /** Every network that is held by itself: the same list while it is the same. */
  readonly held: () => readonly string[];
  /** Against these, control was to do nothing when it was last heard. */
  readonly cancelled: () => readonly CancelledAttack[];
  /** What is done alone is another now: the policies are to be applied. */
  readonly changed: () => void;
}

/** What is known of control in a bucket. */
export interface ControlNow {
  /** For how long it has been answering; null: it is away, and this edge acts. */
  readonly controlMs: number | null;
  /** When the newest bucket that it did not take ended, of which it was not said before; null: it took all. */
  readonly unheardAtMs: number | null;
}

/** So often what is planned against an ongoing attack is looked at again, and what is on disk brought up to date. */
const AGAIN_TICKS = 40;
const KEEP_TICKS = 120;
/** A clock that is further off than that from one bucket to the next was set. */
const CLOCK_SET_MS = 1_000;
const HOLD_MS = 60_000;

/**
 * What an edge does while control is away: it knows the attacks that it sees itself, mitigates them for a time, and
 * keeps both on disk. While control is there it only watches, so that it knows when control goes.
 */
export class LoneWatch {
  readonly #options: LoneWatchOptions;
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
  /** Those in the desired state that is being applied. */
  #applying: readonly OverlayEntry[] = [];
  #desired: Desired | null = null;
  #ticks = 0;
  /** By the wall clock and by one that does not jump, at the last bucket. */
  #before: { readonly wallMs: number; readonly steadyMs: number } | null = null;

  constructor(options: LoneWatchOptions) {
    const { folder, log, tops, scopeOf } = options;
    this.#options = options;
    this.#journal = new AttackJournal(folder, log);
    this.#store = new OverlayStore(folder, this.#clock, log);
    this.#entries = this.#store.load();
    const holdMsOf = (subject: string): number => scopeOf(subject)?.holdMs ?? HOLD_MS;
    this.#ledger = new AttackLedger({ tops, holdMsOf }, this.#journal.load());
  }

  /** How many subjects something is done for alone. */
  get count(): number {
    return this.#entries.length;
  }

  problems(): string[] {
    const { lost } = this.#ledger;
    const { problem } = this.#journal;
    return [
      ...(problem === null ? [] : [`Attacks seen alone cannot be kept on disk: ${problem}.`]),
      ...(lost === 0 ? [] : [`${lost} attacks seen alone are in no report: there were too many.`]),
    ];
  }

  /** A bucket further. */
  async step(
    sample: Sample,
    events: readonly AttackEvent[],
    { controlMs, unheardAtMs }: ControlNow,
  ): Promise<void> {
    this.#followClock(sample.atMs);
    if (this.#ticks === 0) this.#ledger.mitigating(this.#entries, sample.atMs);
    const ended = this.#ledger.note(sample, events, controlMs === null ? sample.atMs : unheardAtMs);
    this.#journal.keep(this.#ledger.unkept(false));
    const cancelled = this.#cancelled.step(this.#options.cancelled(), {
      durationMs: sample.durationMs,
      isControlThere: controlMs !== null,
      ongoing: this.#ledger.ongoing(),
    });
    await this.#mitigate({ ended, cancelled }, controlMs, sample.atMs);
    this.#journal.keep(this.#ledger.unkept(this.#ticks % KEEP_TICKS === KEEP_TICKS - 1));
    this.#ticks++;
  }

  untold(): WireAttack[] {
    return this.#ledger.untold();
  }

  told(attacks: readonly WireAttack[]): void {
    this.#journal.forget(this.#ledger.told(attacks));
    this.#journal.keep(this.#ledger.unkept(false));
  }

  /** What is desired, with what is done alone. */
  put(desired: Desired): Desired {
    this.#desired = desired;
    this.#applying = this.#entries;
    return this.#policies.put(desired, this.#entries, this.#options.held());
  }

  /** The kernel has what `put` answered last, but for these. */
  applied(refused: ReadonlySet<string>, atMs: number): void {
    const enforced = this.#applying
      .filter(({ mode }) => mode === 'enforce')
      .map(({ subject }) => subject)
      .filter((subject) => !refused.has(subject));
    if (enforced.length > 0) this.#ledger.mitigated(new Set(enforced), atMs);
  }

  async stop(): Promise<void> {
    this.#journal.keep(this.#ledger.unkept(true));
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
      ofControl: (subject) => this.#desired?.policies.get(subject) ?? null,
    });
    if (next === this.#entries) return;
    const differs = keysOf(next) !== keysOf(this.#entries);
    // On disk first: whoever is killed now must know what the kernel may have, and why.
    await withPatience(Promise.all([this.#store.save(next), this.#journal.settled()]));
    this.#entries = next;
    if (!differs) return;
    log.warn({ subjects: next.map(({ subject }) => subject) }, 'what is done alone changed');
    this.#ledger.mitigating(next, atMs);
    changed();
  }

  /** Against each ongoing attack; looked at again when it is of another kind, and now and then. */
  #wanted(): Map<string, readonly MitigationAction[]> {
    const { tops, scopeOf } = this.#options;
    const ongoing = this.#ledger.ongoing();
    const isDue = this.#ticks % AGAIN_TICKS === 0;
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
