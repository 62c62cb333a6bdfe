import type { MitigationAction } from '@portcullis/core/attacks/mitigation/actions.ts';
import {
  type Attack,
  type AttackEvent,
  DEFAULT_THRESHOLDS,
} from '@portcullis/core/attacks/attack.ts';
import {
  replanMitigations,
  typesOf,
  worthSamples,
} from '@portcullis/core/attacks/mitigation/plan-mitigations.ts';
import type { Sample } from '@portcullis/core/attacks/sample.ts';
import type { CancelledAttack } from '@portcullis/link/messages/attacks.ts';
import type { WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { Desired } from '@portcullis/dataplane/desired.ts';
import { CancelledAttacks } from './cancelled-attacks.ts';
import { createMachineClock } from '../switch/machine-clock.ts';
import {
  keyOfEntry,
  type OverlayEntry,
  type OverlayFacts,
  stepOverlay,
} from './overlay/overlay.ts';
import { OverlayPolicies } from './overlay/overlay-policies.ts';
import { OverlayStore, withTimeout } from './overlay/overlay-store.ts';
import { OutageAttacks, type OutageAttacksOptions, type OngoingAttacks } from './outage-attacks.ts';

export interface AutonomousDetectionOptions extends OutageAttacksOptions {
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
  /** The time of its last answer, by the wall clock. Null if it received the last bucket. */
  readonly silentSinceMs: number | null;
}

interface Planned {
  readonly types: string;
  readonly plan: readonly MitigationAction[];
  /** The number of samples behind the sources and ports of the plan. */
  readonly samples: number;
}

/** How often mitigations of an ongoing attack are planned again, how often its tops are read, and how often the disk is brought up to date. */
const PLAN_TICKS = 40;
const TOPS_TICKS = 4;
const SAVE_TICKS = 120;
/** The most attacks that mitigations are planned for. */
const MAX_PLANNED = 512;

/**
 * Detection and mitigation without the control plane. While control is away, the edge mitigates the attacks that it
 * detects itself, for a limited time, and keeps attacks and mitigations on disk. While control answers it only tracks
 * attacks, so that it can take over at once.
 */
export class AutonomousDetection {
  readonly #options: AutonomousDetectionOptions;
  readonly #outage: OutageAttacks;
  readonly #store: OverlayStore;
  readonly #clock = createMachineClock();
  readonly #policies = new OverlayPolicies();
  readonly #cancelled = new CancelledAttacks();
  readonly #planned = new Map<string, Planned>();
  #entries: readonly OverlayEntry[];
  /** The entries in the desired state that is being applied. */
  #applying: readonly OverlayEntry[] = [];
  #desired: Desired | null = null;
  #ticks = 0;

  constructor(options: AutonomousDetectionOptions) {
    const { folder, log } = options;
    this.#options = options;
    this.#outage = new OutageAttacks(options);
    this.#store = new OverlayStore(folder, this.#clock, log);
    this.#entries = this.#store.load();
  }

  /** The number of subjects with autonomous mitigations. */
  get count(): number {
    return this.#entries.length;
  }

  problems(): string[] {
    return this.#outage.problems();
  }

  /** Takes the next bucket, with the detector's ongoing attacks and its events. */
  async step(
    sample: Sample,
    ongoing: OngoingAttacks,
    events: readonly AttackEvent[],
    { controlMs, silentSinceMs }: ControlContact,
  ): Promise<void> {
    const { atMs, durationMs } = sample;
    const ended = new Set(
      events.flatMap(({ kind, attack }) => (kind === 'ended' ? [attack.subject] : [])),
    );
    const isControlThere = controlMs !== null;
    const cancelled = this.#cancelled.step(this.#options.cancelled(), {
      durationMs,
      isControlThere,
      ongoing,
    });
    const isChanged = await this.#mitigate(ongoing, { ended, cancelled }, controlMs);
    if (silentSinceMs === null) this.#outage.report();
    else {
      this.#outage.note(ongoing, this.#entries, { atMs, silentSinceMs });
      if (++this.#ticks % SAVE_TICKS === 0) this.#outage.save();
    }
    if (isChanged) this.#options.changed();
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
    if (enforced.length > 0) this.#outage.mitigated(new Set(enforced), atMs);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#outage.stop(), this.#store.settled()]);
  }

  /** Brings the overlay up to date. Returns whether the policies must be applied. */
  async #mitigate(
    ongoing: OngoingAttacks,
    { ended, cancelled }: Pick<OverlayFacts, 'ended' | 'cancelled'>,
    controlMs: number | null,
  ): Promise<boolean> {
    const { scopeOf, log } = this.#options;
    if (this.#entries.length === 0 && controlMs !== null) {
      this.#planned.clear();
      return false;
    }
    const next = stepOverlay(this.#entries, {
      nowMs: this.#clock.nowMs(),
      controlMs,
      attacks: controlMs === null ? this.#wanted(ongoing) : NONE,
      ended,
      cancelled,
      scopeOf,
      controlPolicyOf: (subject) => this.#desired?.policies.get(subject) ?? null,
    });
    if (next === this.#entries) return false;
    const differs = keysOf(next) !== keysOf(this.#entries);
    // On disk first: an agent that starts after a kill must know what the kernel may have.
    await withTimeout(this.#store.save(next));
    this.#entries = next;
    if (differs) {
      log.warn({ subjects: next.map(({ subject }) => subject) }, 'autonomous mitigations changed');
    }
    return differs;
  }

  /** The planned actions by subject. */
  #wanted(ongoing: OngoingAttacks): Map<string, readonly MitigationAction[]> {
    const wanted = new Map<string, readonly MitigationAction[]>();
    for (const [subject, { phase }] of [...ongoing].slice(0, MAX_PLANNED)) {
      const planned = this.#plan(phase.attack);
      this.#planned.set(subject, planned);
      wanted.set(subject, planned.plan);
    }
    for (const subject of this.#planned.keys()) {
      if (!ongoing.has(subject)) this.#planned.delete(subject);
    }
    return wanted;
  }

  /** A plan is renewed when the types of the attack change, when more is known of its sources, and at intervals. */
  #plan(attack: Attack): Planned {
    const { tops, scopeOf } = this.#options;
    const { subject } = attack;
    const known = this.#planned.get(subject);
    const types = typesOf(attack).join();
    const isDue = known?.types !== types || this.#ticks % PLAN_TICKS === 0;
    if (known !== undefined && !isDue && this.#ticks % TOPS_TICKS !== 0) return known;
    const now = tops(subject);
    const samples = worthSamples(now, known?.samples ?? 0);
    if (known !== undefined && !isDue && samples === null) return known;
    const thresholds = scopeOf(subject) ?? DEFAULT_THRESHOLDS;
    const active = known?.plan ?? this.#actionsOf(subject);
    const plan = replanMitigations(active, attack, now, { thresholds });
    return { types, plan, samples: samples ?? known?.samples ?? 0 };
  }

  /** After a restart the plan is that of the entries on disk. */
  #actionsOf(subject: string): readonly MitigationAction[] {
    return this.#entries.find((one) => one.subject === subject)?.actions ?? [];
  }
}

const NONE: ReadonlyMap<string, readonly MitigationAction[]> = new Map();

function keysOf(entries: readonly OverlayEntry[]): string {
  return entries.map(keyOfEntry).join('\n');
}
