import type { Attack, AttackEvent, Measured } from '@portcullis/core/attacks/attack.ts';
import type { Sample } from '@portcullis/core/attacks/sample.ts';
import type { SubjectTops } from '@portcullis/core/attacks/top-talkers.ts';
import { MAX_OVERLAY_ACTIONS, type WireAttack } from '@portcullis/link/messages/attacks.ts';
import { keyOf } from './action-key.ts';
import type { KeptAttack } from './journal.ts';
import type { OverlayEntry } from './overlay/overlay.ts';
import { Series } from '@portcullis/core/attacks/series.ts';
import { RecentSamples } from './recent-samples.ts';

/** An attack as this edge sees it. */
interface Tracked {
  record: WireAttack;
  readonly series: Series;
  /** Control did not hear all of it: it is told, and until then this is kept on disk. */
  alone: boolean;
  seenAtMs: number;
  /** What of it control knows. */
  told: KeptAttack['told'];
  /** Not seen by this process yet, for so long; null: it was. */
  unseenMs: number | null;
  /** Differs from what is on disk by more than its series. */
  isNews: boolean;
}

export interface LedgerOptions {
  /** What is known of sources and ports. */
  readonly tops: (subject: string) => SubjectTops | null;
  readonly holdMsOf: (subject: string) => number;
}

const MAX_TRACKED = 512;
/** Seen again within this time after a restart, it is the same attack; else it ended when it was last seen. */
const MERGE_MS = 300_000;

/** The attacks that this edge's own detector saw and control may not know of. Dates are of the wall clock. */
export class AttackLedger {
  readonly #options: LedgerOptions;
  readonly #tracked = new Map<string, Tracked>();
  /** The attack of the detector that is ongoing, by its subject. */
  readonly #ongoing = new Map<string, Tracked>();
  readonly #recent = new RecentSamples();
  /** When the newest bucket that control did not take ended. */
  #unheardAtMs = -Infinity;
  #lost = 0;

  constructor(options: LedgerOptions, kept: readonly KeptAttack[] = []) {
    this.#options = options;
    for (const { attack, seenAtMs, told } of kept) {
      const series = new Series(attack.series.startMs, attack.series);
      const isOver = attack.endedAtMs !== null;
      const unseenMs = isOver ? null : 0;
      const tracked = {
        record: attack,
        series,
        alone: true,
        seenAtMs,
        told,
        unseenMs,
        isNews: false,
      };
      this.#tracked.set(attack.id, tracked);
    }
  }

  /** Attacks that control will not hear of: there were too many. */
  get lost(): number {
    return this.#lost;
  }

  /** The ongoing ones, by subject. */
  ongoing(): ReadonlyMap<string, Attack> {
    return new Map([...this.#ongoing].map(([subject, { record }]) => [subject, record]));
  }

  /**
   * A bucket further. `unheardAtMs`: when the newest one that control did not take ended, of which it was not said
   * before; null: there is none. Answers the subjects whose attacks ended.
   */
  note(sample: Sample, events: readonly AttackEvent[], unheardAtMs: number | null): Set<string> {
    // The clock may have been set back meanwhile.
    const missedAtMs = Math.min(unheardAtMs ?? -Infinity, sample.atMs);
    this.#unheardAtMs = Math.max(this.#unheardAtMs, missedAtMs);
    const ended = new Set<string>();
    for (const event of events) {
      this.#take(event, sample);
      if (event.kind === 'ended') ended.add(event.attack.subject);
    }
    this.#recent.add(sample);
    for (const [subject, tracked] of this.#ongoing) {
      this.#count(tracked.series, sample, subject);
      tracked.seenAtMs = sample.atMs;
      this.#judgeHeard(tracked);
    }
    this.#endUnseen(sample.durationMs);
    return ended;
  }

  /** Control that misses one bucket may miss the attack, or date it by what it heard: one killed forgets the rest. */
  #judgeHeard(tracked: Tracked): void {
    if (tracked.alone || this.#unheardAtMs <= tracked.record.startedAtMs) return;
    tracked.alone = true;
    tracked.isNews = true;
  }

  #count(series: Series, sample: Sample, subject: string): void {
    const { packets, bytes } = this.#recent.countOf(sample, subject) ?? { packets: 0, bytes: 0 };
    series.add(sample.durationMs, packets, bytes * 8);
  }

  /** What is done alone is this now. */
  mitigating(entries: readonly OverlayEntry[], atMs: number): void {
    for (const tracked of this.#tracked.values()) {
      const { subject, actions: before, endedAtMs } = tracked.record;
      const entry = endedAtMs === null ? entries.find((one) => one.subject === subject) : undefined;
      const mode = entry?.mode ?? 'enforce';
      const now = entry?.actions ?? [];
      const wanted = new Set(now.map((action) => keyOf({ action, mode })));
      const closed = before.map((one) =>
        one.untilMs === null && !wanted.has(keyOf({ action: one.action, mode: one.mode }))
          ? { ...one, untilMs: Math.max(atMs, one.sinceMs) }
          : one,
      );
      const open = before.filter(({ untilMs }) => untilMs === null);
      const there = new Set(open.map((one) => keyOf({ action: one.action, mode: one.mode })));
      const added = now
        .filter((action) => !there.has(keyOf({ action, mode })))
        .map((action) => ({ action, mode, sinceMs: atMs, untilMs: null }));
      if (added.length === 0 && closed.every((one, index) => one === before[index])) continue;
      const actions = [...closed, ...added].slice(-MAX_OVERLAY_ACTIONS);
      this.#change(tracked, { actions });
    }
  }

  /** The kernel has what is done alone against these. */
  mitigated(subjects: ReadonlySet<string>, atMs: number): void {
    for (const tracked of this.#ongoing.values()) {
      const { subject, mitigatedAtMs, openedAtMs } = tracked.record;
      if (mitigatedAtMs !== null || !subjects.has(subject)) continue;
      this.#change(tracked, { mitigatedAtMs: Math.max(openedAtMs, atMs) });
    }
  }

  /** The wall clock was set: what was dated before is dated by it now. */
  shift(byMs: number): void {
    this.#unheardAtMs += byMs;
    for (const tracked of this.#tracked.values()) {
      const { record } = tracked;
      tracked.seenAtMs = Math.max(0, tracked.seenAtMs + byMs);
      tracked.series.shift(byMs);
      this.#change(tracked, shifted(record, byMs));
    }
  }

  /** What control is to be told, of what it does not know. */
  untold(): WireAttack[] {
    return [...this.#tracked.values()]
      .filter(({ alone, told, record }) => alone && told !== stateOf(record))
      .map((tracked) => this.#complete(tracked));
  }

  /** Control has these, as they were told. Answers the ids of those that are forgotten now. */
  told(attacks: readonly WireAttack[]): string[] {
    const forgotten: string[] = [];
    for (const { id, endedAtMs } of attacks) {
      const tracked = this.#tracked.get(id);
      if (tracked === undefined) continue;
      tracked.told = endedAtMs === null ? 'ongoing' : 'ended';
      tracked.isNews = true;
      if (tracked.told !== stateOf(tracked.record) || tracked.told === 'ongoing') continue;
      this.#tracked.delete(id);
      forgotten.push(id);
    }
    return forgotten;
  }

  /** What is to be on disk and is not; `all`: whatever is to be there. */
  unkept(all: boolean): KeptAttack[] {
    const kept: KeptAttack[] = [];
    for (const tracked of this.#tracked.values()) {
      if (!tracked.alone || !(all || tracked.isNews)) continue;
      tracked.isNews = false;
      const { seenAtMs, told } = tracked;
      kept.push({ attack: this.#complete(tracked), seenAtMs, told });
    }
    return kept;
  }

  #take({ kind, attack, atMs }: AttackEvent, sample: Sample): void {
    const { subject } = attack;
    const known = this.#ongoing.get(subject);
    // One there was no room for stays unknown, or it would be looked for in every bucket.
    if (known === undefined && (kind === 'changed' || kind === 'ended')) return;
    const tracked = known ?? this.#resume(attack, atMs, sample);
    if (tracked === null) return;
    const { record, isNews } = tracked;
    const isSame = record.type === attack.type;
    this.#change(tracked, {
      type: attack.type,
      shares: attack.shares,
      peakPps: higher(record.peakPps, attack.peakPps),
      peakBps: higher(record.peakBps, attack.peakBps),
      endedAtMs: null,
    });
    // A peak is no reason to write to the disk four times a second.
    if (kind === 'changed' && isSame) tracked.isNews = isNews;
    if (kind !== 'ended') this.#ongoing.set(subject, tracked);
    else this.#end(tracked, this.#endOf(attack, atMs));
  }

  /** One that went on before, or a new one; null: there is no room. */
  #resume(attack: Attack, atMs: number, { durationMs }: Sample): Tracked | null {
    const before = [...this.#tracked.values()].find(
      ({ record, unseenMs }) =>
        record.id === attack.id || (unseenMs !== null && record.subject === attack.subject),
    );
    if (before !== undefined) {
      before.series.skip(Math.max(0, atMs - before.seenAtMs - durationMs));
      before.unseenMs = null;
      return before;
    }
    if (this.#tracked.size >= MAX_TRACKED && !this.#makeRoom()) return null;
    const series = new Series(attack.startedAtMs);
    // The bucket of now is counted with those of all others.
    for (const past of this.#recent.last(atMs - attack.startedAtMs - durationMs)) {
      this.#count(series, past, attack.subject);
    }
    const record: WireAttack = {
      ...attack,
      openedAtMs: Math.max(atMs, attack.startedAtMs),
      mitigatedAtMs: null,
      actions: [],
      tops: null,
      series: series.value,
    };
    const tracked: Tracked = {
      record,
      series,
      alone: false,
      seenAtMs: atMs,
      told: 'nothing',
      unseenMs: null,
      isNews: true,
    };
    this.#tracked.set(attack.id, tracked);
    return tracked;
  }

  /** The oldest that is over goes. */
  #makeRoom(): boolean {
    const over = [...this.#tracked.values()].find(({ record }) => record.endedAtMs !== null);
    this.#lost++;
    return over !== undefined && this.#tracked.delete(over.record.id);
  }

  /** The detector dates the end by a clock that may have been set since the beginning. */
  #endOf({ subject, endedAtMs }: Attack, atMs: number): number {
    const holdMs = this.#options.holdMsOf(subject);
    const isLikely = endedAtMs !== null && endedAtMs <= atMs && endedAtMs >= atMs - holdMs * 2;
    return isLikely ? endedAtMs : atMs - holdMs;
  }

  #end(tracked: Tracked, atMs: number): void {
    const { id, subject, startedAtMs } = tracked.record;
    this.#ongoing.delete(subject);
    this.#judgeHeard(tracked);
    tracked.unseenMs = null;
    this.#change(tracked, { endedAtMs: Math.max(startedAtMs, Math.round(atMs)) });
    if (!tracked.alone) this.#tracked.delete(id);
  }

  #endUnseen(durationMs: number): void {
    for (const tracked of this.#tracked.values()) {
      if (tracked.unseenMs === null) continue;
      tracked.unseenMs += durationMs;
      if (tracked.unseenMs >= MERGE_MS) this.#end(tracked, tracked.seenAtMs);
    }
  }

  #change(tracked: Tracked, change: Partial<WireAttack>): void {
    tracked.record = { ...tracked.record, ...change };
    tracked.isNews = true;
  }

  #complete(tracked: Tracked): WireAttack {
    const { record, series } = tracked;
    const tops = record.endedAtMs === null ? this.#options.tops(record.subject) : null;
    tracked.record = { ...record, tops: tops ?? record.tops, series: series.value };
    return tracked.record;
  }
}

function stateOf({ endedAtMs }: WireAttack): KeptAttack['told'] {
  return endedAtMs === null ? 'ongoing' : 'ended';
}

function higher(a: Measured, b: Measured): Measured {
  return b.value > a.value ? b : a;
}

function shifted(record: WireAttack, byMs: number): Partial<WireAttack> {
  const moved = (atMs: number): number => Math.max(0, atMs + byMs);
  const movedIf = (atMs: number | null): number | null => (atMs === null ? null : moved(atMs));
  return {
    startedAtMs: moved(record.startedAtMs),
    endedAtMs: movedIf(record.endedAtMs),
    openedAtMs: moved(record.openedAtMs),
    mitigatedAtMs: movedIf(record.mitigatedAtMs),
    actions: record.actions.map((one) => ({
      ...one,
      sinceMs: moved(one.sinceMs),
      untilMs: movedIf(one.untilMs),
    })),
  };
}
