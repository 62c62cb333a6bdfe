import type { Attack, AttackEvent, Measured } from '@portcullis/core/attacks/attack.ts';
import type { Sample } from '@portcullis/core/attacks/sample.ts';
import type { SubjectTops } from '@portcullis/core/attacks/top-talkers.ts';
import { MAX_OVERLAY_ACTIONS, type WireAttack } from '@portcullis/link/messages/attacks.ts';
import { keyOf } from './action-key.ts';
import type { SavedAttack } from './journal.ts';
import type { OverlayEntry } from './overlay/overlay.ts';
import { Series } from '@portcullis/core/attacks/detector/series.ts';
import { RecentSamples } from './recent-samples.ts';

/** An attack as this edge detects it. */
interface Tracked {
  record: WireAttack;
  readonly series: Series;
  /** Control missed a part of it: it is reported, and kept on disk until control acknowledges it. */
  autonomous: boolean;
  seenAtMs: number;
  /** The last state that control acknowledged. */
  acknowledged: SavedAttack['told'];
  /** How long it was not seen since a restart. Null once this process has seen it. */
  unseenMs: number | null;
  /** It differs from the saved state by more than its time series. */
  isChanged: boolean;
}

export interface LedgerOptions {
  /** The top sources and ports of a subject. */
  readonly tops: (subject: string) => SubjectTops | null;
  readonly holdMsOf: (subject: string) => number;
}

const MAX_TRACKED = 512;
/** Seen again within this time after a restart, it is the same attack; otherwise it ended when it was last seen. */
const MERGE_MS = 300_000;

/** The attacks of this edge's own detector that control may have missed. Times are of the wall clock. */
export class AttackLedger {
  readonly #options: LedgerOptions;
  readonly #tracked = new Map<string, Tracked>();
  /** The ongoing attack of each subject. */
  readonly #ongoing = new Map<string, Tracked>();
  readonly #recent = new RecentSamples();
  /** The end of the newest bucket that control did not receive. */
  #missedAtMs = -Infinity;
  #lost = 0;

  constructor(options: LedgerOptions, kept: readonly SavedAttack[] = []) {
    this.#options = options;
    for (const { attack, seenAtMs, told } of kept) {
      const series = new Series(attack.series.startMs, attack.series);
      const isOver = attack.endedAtMs !== null;
      const unseenMs = isOver ? null : 0;
      const tracked = {
        record: attack,
        series,
        autonomous: true,
        seenAtMs,
        acknowledged: told,
        unseenMs,
        isChanged: false,
      };
      this.#tracked.set(attack.id, tracked);
    }
  }

  /** The number of attacks that will not be reported because there were too many. */
  get lost(): number {
    return this.#lost;
  }

  /** The ongoing attacks by subject. */
  ongoing(): ReadonlyMap<string, Attack> {
    return new Map([...this.#ongoing].map(([subject, { record }]) => [subject, record]));
  }

  /**
   * Takes the next bucket. `missedAtMs` is the end of the newest bucket that control did not receive and that was not
   * named before, or null. Returns the subjects whose attacks ended.
   */
  note(sample: Sample, events: readonly AttackEvent[], missedAtMs: number | null): Set<string> {
    // The clock may have been set back since.
    const newestMs = Math.min(missedAtMs ?? -Infinity, sample.atMs);
    this.#missedAtMs = Math.max(this.#missedAtMs, newestMs);
    const ended = new Set<string>();
    for (const event of events) {
      this.#take(event, sample);
      if (event.kind === 'ended') ended.add(event.attack.subject);
    }
    this.#recent.add(sample);
    for (const [subject, tracked] of this.#ongoing) {
      this.#count(tracked.series, sample, subject);
      tracked.seenAtMs = sample.atMs;
      this.#markIfMissed(tracked);
    }
    this.#endUnseen(sample.durationMs);
    return ended;
  }

  /** If control missed one bucket, it may have missed the attack or dated it too late. */
  #markIfMissed(tracked: Tracked): void {
    if (tracked.autonomous || this.#missedAtMs <= tracked.record.startedAtMs) return;
    tracked.autonomous = true;
    tracked.isChanged = true;
  }

  #count(series: Series, sample: Sample, subject: string): void {
    const { packets, bytes } = this.#recent.countOf(sample, subject) ?? { packets: 0, bytes: 0 };
    series.add(sample.durationMs, packets, bytes * 8);
  }

  /** The autonomous mitigations are these now. */
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

  /** The kernel has the autonomous mitigations of these subjects. */
  mitigated(subjects: ReadonlySet<string>, atMs: number): void {
    for (const tracked of this.#ongoing.values()) {
      const { subject, mitigatedAtMs, openedAtMs } = tracked.record;
      if (mitigatedAtMs !== null || !subjects.has(subject)) continue;
      this.#change(tracked, { mitigatedAtMs: Math.max(openedAtMs, atMs) });
    }
  }

  /** The wall clock was set: all times are moved by the difference. */
  shift(byMs: number): void {
    this.#missedAtMs += byMs;
    for (const tracked of this.#tracked.values()) {
      const { record } = tracked;
      tracked.seenAtMs = Math.max(0, tracked.seenAtMs + byMs);
      tracked.series.shift(byMs);
      this.#change(tracked, shifted(record, byMs));
    }
  }

  /** The attacks whose present state control has not acknowledged. */
  unreported(): WireAttack[] {
    return [...this.#tracked.values()]
      .filter(
        ({ autonomous, acknowledged, record }) => autonomous && acknowledged !== stateOf(record),
      )
      .map((tracked) => this.#complete(tracked));
  }

  /** Control has acknowledged these. Returns the ids of the attacks that are dropped now. */
  acknowledged(attacks: readonly WireAttack[]): string[] {
    const dropped: string[] = [];
    for (const { id, endedAtMs } of attacks) {
      const tracked = this.#tracked.get(id);
      if (tracked === undefined) continue;
      tracked.acknowledged = endedAtMs === null ? 'ongoing' : 'ended';
      tracked.isChanged = true;
      if (tracked.acknowledged !== stateOf(tracked.record) || tracked.acknowledged === 'ongoing')
        continue;
      this.#tracked.delete(id);
      dropped.push(id);
    }
    return dropped;
  }

  /** The attacks to write to disk: those that changed, or with `all` every one. */
  unsaved(all: boolean): SavedAttack[] {
    const saved: SavedAttack[] = [];
    for (const tracked of this.#tracked.values()) {
      if (!tracked.autonomous || !(all || tracked.isChanged)) continue;
      tracked.isChanged = false;
      const { seenAtMs, acknowledged: told } = tracked;
      saved.push({ attack: this.#complete(tracked), seenAtMs, told });
    }
    return saved;
  }

  #take({ kind, attack, atMs }: AttackEvent, sample: Sample): void {
    const { subject } = attack;
    const known = this.#ongoing.get(subject);
    // An attack beyond the capacity stays untracked, or it would be searched for in every bucket.
    if (known === undefined && (kind === 'changed' || kind === 'ended')) return;
    const tracked = known ?? this.#resume(attack, atMs, sample);
    if (tracked === null) return;
    const { record, isChanged } = tracked;
    const isSame = record.type === attack.type;
    this.#change(tracked, {
      type: attack.type,
      shares: attack.shares,
      peakPps: higher(record.peakPps, attack.peakPps),
      peakBps: higher(record.peakBps, attack.peakBps),
      endedAtMs: null,
    });
    // A new peak alone is not written to disk: it may come four times a second.
    if (kind === 'changed' && isSame) tracked.isChanged = isChanged;
    if (kind !== 'ended') this.#ongoing.set(subject, tracked);
    else this.#end(tracked, this.#endOf(attack, atMs));
  }

  /** Continues a known attack or starts a new one. Returns null at capacity. */
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
    if (this.#tracked.size >= MAX_TRACKED && !this.#evict()) return null;
    const series = new Series(attack.startedAtMs);
    // The present bucket is counted later, with those of all other attacks.
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
      autonomous: false,
      seenAtMs: atMs,
      acknowledged: 'nothing',
      unseenMs: null,
      isChanged: true,
    };
    this.#tracked.set(attack.id, tracked);
    return tracked;
  }

  /** Drops the oldest attack that is over. */
  #evict(): boolean {
    const over = [...this.#tracked.values()].find(({ record }) => record.endedAtMs !== null);
    this.#lost++;
    return over !== undefined && this.#tracked.delete(over.record.id);
  }

  /** The detector's end time is implausible if the clock was set during the attack. */
  #endOf({ subject, endedAtMs }: Attack, atMs: number): number {
    const holdMs = this.#options.holdMsOf(subject);
    const isLikely = endedAtMs !== null && endedAtMs <= atMs && endedAtMs >= atMs - holdMs * 2;
    return isLikely ? endedAtMs : atMs - holdMs;
  }

  #end(tracked: Tracked, atMs: number): void {
    const { id, subject, startedAtMs } = tracked.record;
    this.#ongoing.delete(subject);
    this.#markIfMissed(tracked);
    tracked.unseenMs = null;
    this.#change(tracked, { endedAtMs: Math.max(startedAtMs, Math.round(atMs)) });
    if (!tracked.autonomous) this.#tracked.delete(id);
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
    tracked.isChanged = true;
  }

  #complete(tracked: Tracked): WireAttack {
    const { record, series } = tracked;
    const tops = record.endedAtMs === null ? this.#options.tops(record.subject) : null;
    tracked.record = { ...record, tops: tops ?? record.tops, series: series.value };
    return tracked.record;
  }
}

function stateOf({ endedAtMs }: WireAttack): SavedAttack['told'] {
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
