import type { Attack, AttackEvent } from '@portcullis/core/attacks/attack.ts';
import { type DetectorState, INITIAL, step } from '@portcullis/core/attacks/detector/detector.ts';
import {
  accept,
  type Counters,
  forget,
  NO_COUNTERS,
  take,
} from '@portcullis/core/attacks/merge/merge-samples.ts';
import {
  continueAs,
  handOver,
  ongoingIn,
  ongoingOf,
  type Resumable,
  resume,
} from '@portcullis/core/attacks/detector/resume.ts';
import { worthSamples } from '@portcullis/core/attacks/mitigation/plan-mitigations.ts';
import type { Ongoing, SubjectState } from '@portcullis/core/attacks/detector/subject.ts';
import { ratesOf } from '@portcullis/core/attacks/detector/window.ts';
import type { Peak } from '@portcullis/core/attacks/suggest-thresholds.ts';
import { BUCKET_MS, type Sample, type SubjectSample } from '@portcullis/core/attacks/sample.ts';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import type { WatchSamples, WireSample } from '@portcullis/link/messages/attacks.ts';
import type { AttackSink, RecordChange, Seen, Snapshot, StoredAttack } from '../record/plan.ts';
import { shownSubject } from '../subject.ts';
import { resumableOfStored, seriesOfStored } from '../record/stored-state.ts';
import type { ScopeTable } from '../scopes/scope-table.ts';
import { Corroboration } from './corroboration.ts';
import { EvidenceStore } from './evidence-store.ts';

type OngoingState = SubjectState & { readonly phase: Ongoing };

export interface HostOptions {
  readonly scopes: Pick<ScopeTable, 'of' | 'thresholdsOf' | 'serves'>;
  readonly recorder: AttackSink;
  /** Monotonic time in milliseconds. */
  readonly nowMs?: () => number;
  readonly wallMs?: () => number;
}

/** The most tracked subjects; beyond it only prefixes, because a step must be shorter than a bucket. */
const MAX_SUBJECTS = 16_384;
/** The silence: without samples for this time, traffic counts as zero and attacks end. */
const SILENCE_MS = 5_000;
/** A silent agent is dropped after this time. */
const GONE_MS = 60_000;
/** The intervals at which records and evidence are updated. */
const REPORT_MS = 1_000;
const EVIDENCE_MS = 10_000;
/** Rates count once no attack has begun for so long. */
const PEAK_SECONDS = 3;
/** A larger deviation from the monotonic clock means that the wall clock was set. */
const CLOCK_SET_MS = 1_000;
/** The largest accepted age of a sample. */
const MAX_AGE_MS = 10_000;

/** Runs the detector on the samples of all agents. No I/O: results go to the recorder. */
export class DetectorHost {
  readonly evidence = new EvidenceStore();
  readonly #options: HostOptions;
  readonly #nowMs: () => number;
  readonly #wallMs: () => number;
  /** The instance and last sequence number of each agent. */
  readonly #lastSequence = new Map<
    string,
    { readonly instance: string; readonly sequence: number }
  >();
  /** Continued attacks without traffic since, with the time they were last seen. */
  readonly #unseen = new Map<string, number>();
  /**
   * The name and the present types of each attack as they were last reported: a change of either is planned for at
   * once.
   */
  readonly #reportedTypes = new Map<string, string>();
  /** The number of samples at the last report of top sources. */
  readonly #traced = new Map<string, number>();
  /** The highest rates of tracked subjects outside of attacks, since they were taken. */
  #peaks = new Map<string, Peak>();
  /** Rates of the last seconds, oldest first, that may still turn out to be those of an attack. */
  readonly #latest: ReadonlyMap<string, Peak>[] = [];
  /** Ongoing attacks last reported as claimed by exports alone. */
  readonly #claimed = new Set<string>();
  readonly #corroboration: Corroboration;
  #counters: Counters = NO_COUNTERS;
  #state: DetectorState = INITIAL;
  /** The clock changes since the start of each ongoing attack. */
  readonly #clockShiftMs = new Map<string, number>();
  /** The offset of the wall clock to the monotonic clock. */
  #clockMs: number;
  #steppedMs: number;
  #reportedMs = 0;
  #keptMs = 0;

  constructor(options: HostOptions) {
    this.#options = options;
    const { thresholdsOf, serves } = options.scopes;
    this.#corroboration = new Corroboration({ thresholdsOf, serves });
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#wallMs = options.wallMs ?? (() => Date.now());
    this.#steppedMs = this.#nowMs();
    this.#clockMs = this.#wallMs() - this.#nowMs();
  }

  /** Takes the samples of an agent. Repetitions count once. */
  accept({ kind, name: of }: AgentRef, site: string, message: WatchSamples): void {
    const name = `${kind}/${of}`;
    const { instance, sequence, atMs, samples } = message;
    const before = this.#lastSequence.get(name);
    if (before?.instance === instance && sequence <= before.sequence) return;
    this.#lastSequence.set(name, { instance, sequence });
    const wallMs = this.#wallMs();
    const dated = samples.map((sample) => {
      // By our clock, because theirs may be wrong.
      const ageMs = Math.min(MAX_AGE_MS, Math.max(0, atMs - sample.atMs));
      return this.#held(sample, wallMs - ageMs);
    });
    this.#corroboration.note({ kind, name: of }, site, dated, this.#nowMs());
    const counting = kind === 'edge' ? 'packets' : 'exports';
    this.#counters = accept(this.#counters, { name, site, counting }, dated, this.#nowMs());
    this.tick();
  }

  /** Called every bucket and on new samples. */
  tick(): void {
    const nowMs = this.#nowMs();
    this.#followClock();
    for (;;) {
      const taken = take(this.#counters, nowMs);
      if (taken === null) break;
      this.#counters = taken.counters;
      this.#step(taken.sample);
      this.#steppedMs = nowMs;
    }
    if (nowMs - this.#steppedMs > SILENCE_MS) {
      this.#counters = forget(this.#counters, nowMs, GONE_MS);
      this.#step({ atMs: this.#wallMs(), durationMs: BUCKET_MS, addresses: [], prefixes: [] });
      this.#steppedMs += BUCKET_MS;
      // A suspended process does not catch up.
      this.#steppedMs = Math.max(this.#steppedMs, nowMs - SILENCE_MS);
    }
    if (nowMs - this.#reportedMs >= REPORT_MS) {
      this.#report(nowMs);
      this.#notePeaks();
    }
  }

  /** Whether exports alone claim the attack, and an edge that could count it does not: see `Corroboration`. */
  #isClaimed(subject: string): boolean {
    const nowMs = this.#nowMs();
    if (this.#corroboration.isCounted(subject, nowMs)) this.#claimed.delete(subject);
    else if (this.#corroboration.isClaimed(subject, nowMs)) this.#claimed.add(subject);
    // It stays a claim when the exports fall silent.
    return this.#claimed.has(subject);
  }

  /** An edge counts what was a claim until now. */
  #isConfirmed(subject: string): boolean {
    return this.#claimed.has(subject) && !this.#isClaimed(subject);
  }

  /** The highest rates since the last time. */
  takePeaks(): ReadonlyMap<string, Peak> {
    const peaks = this.#peaks;
    this.#peaks = new Map();
    return peaks;
  }

  /** Once a second, which every window covers. The first seconds of an attack are known as such a little later. */
  #notePeaks(): void {
    const now = new Map<string, Peak>();
    for (const [subject, { phase, window }] of [
      ...this.#state.addresses,
      ...this.#state.prefixes,
    ]) {
      if (phase.name !== 'ongoing') now.set(subject, ratesOf(window));
    }
    this.#latest.push(now);
    if (this.#latest.length <= PEAK_SECONDS) return;
    for (const [subject, { pps, bps }] of this.#latest.shift() ?? []) {
      if (!now.has(subject)) continue;
      const before = this.#peaks.get(subject) ?? { pps: 0, bps: 0 };
      this.#peaks.set(subject, {
        pps: Math.max(before.pps, pps),
        bps: Math.max(before.bps, bps),
      });
    }
  }

  /** Continues an attack of another process. */
  adopt(kept: StoredAttack, seenAtMs: number): void {
    const subject = shownSubject(kept.subject);
    if (ongoingOf(this.#state, subject) !== null) return;
    const known = this.#resumable(kept, subject);
    this.#state = resume(this.#state, known);
    this.#unseen.set(subject, seenAtMs);
    this.#resumeEvidence(known, kept);
  }

  /** Makes a change of the records, and reports the attack as it is now: what it reported before is out of date. */
  follow(change: RecordChange): void {
    const { subject } = change;
    const one = ongoingOf(this.#state, subject);
    if (one === null) return;
    if (change.kind === 'split') this.#split(one, change.startedAtMs);
    else this.#join(one, change.stored);
    const now = ongoingOf(this.#state, subject) ?? one;
    this.#options.recorder.note(this.#seenOf(now, false));
    this.#options.recorder.noteEvidence(subject, this.evidence.evidenceOf(now.phase.attack));
  }

  /** The attack is a recorded one that continues. */
  #join({ phase: { attack } }: OngoingState, stored: StoredAttack): void {
    const { subject } = attack;
    if (attack.startedAtMs !== stored.startedAt.getTime()) {
      const thresholds = this.#options.scopes.thresholdsOf(subject);
      this.#state = continueAs(this.#state, this.#resumable(stored, subject), thresholds);
    }
    const whole = ongoingOf(this.#state, subject);
    if (whole !== null) this.#resumeEvidence(whole.phase, stored);
  }

  /** Another holder has the attack since this time. */
  #split({ phase: { attack } }: OngoingState, startedAtMs: number): void {
    const { subject } = attack;
    if (attack.startedAtMs >= startedAtMs) return;
    const atMs = this.#wallMs();
    const thresholds = this.#options.scopes.thresholdsOf(subject);
    this.#state = handOver(this.#state, subject, thresholds, startedAtMs, atMs);
    this.#clockShiftMs.delete(subject);
    this.evidence.end(subject);
    const anew = ongoingOf(this.#state, subject);
    if (anew !== null) this.evidence.begin(anew.phase, atMs);
  }

  #resumable(kept: StoredAttack, subject: string): Resumable {
    return resumableOfStored(kept, subject, this.#options.scopes.thresholdsOf(subject));
  }

  #resumeEvidence(ongoing: Pick<Ongoing, 'attack' | 'limits'>, kept: StoredAttack): void {
    this.evidence.resume(ongoing, seriesOfStored(kept), kept.openedAt.getTime(), this.#wallMs());
  }

  ongoing(): Attack[] {
    return [...ongoingIn(this.#state).values()].map(({ phase }) => phase.attack);
  }

  /** Only for held subjects, in canonical form. */
  #held(sample: WireSample, atMs: number): Sample {
    const { scopes } = this.#options;
    const isHeld = (one: SubjectSample): boolean => scopes.of(one.subject) !== null;
    for (const tops of sample.tops) {
      if (scopes.of(tops.subject) !== null) this.evidence.noteTops(tops);
    }
    return {
      atMs,
      durationMs: sample.durationMs,
      addresses: sample.addresses.filter(isHeld),
      prefixes: sample.prefixes.filter(isHeld),
    };
  }

  /** An attack ends by the clock of its start, so that its duration is right. */
  #followClock(): void {
    const clockMs = this.#wallMs() - this.#nowMs();
    const byMs = clockMs - this.#clockMs;
    this.#clockMs = clockMs;
    if (Math.abs(byMs) < CLOCK_SET_MS) return;
    for (const subject of ongoingIn(this.#state).keys()) {
      this.#clockShiftMs.set(subject, (this.#clockShiftMs.get(subject) ?? 0) + byMs);
    }
  }

  #step(sample: Sample): void {
    const { thresholdsOf } = this.#options.scopes;
    const { state, events } = step(this.#state, sample, {
      thresholdsOf,
      maxSubjects: MAX_SUBJECTS,
    });
    this.#state = state;
    for (const event of events) this.#noteEvent(event);
    this.evidence.add(sample);
    for (const subject of this.#unseen.keys()) {
      const one = state.addresses.get(subject) ?? state.prefixes.get(subject);
      if (one?.phase.name === 'ongoing' && one.phase.quietMs === 0) this.#unseen.delete(subject);
    }
  }

  #noteEvent({ kind, attack, atMs, quietMs, partOf }: AttackEvent): void {
    const { subject } = attack;
    const state = this.#state.addresses.get(subject) ?? this.#state.prefixes.get(subject);
    const ongoing = state?.phase.name === 'ongoing' ? state.phase : null;
    if (kind === 'continued') this.evidence.forgetTops(subject);
    if (ongoing !== null && kind !== 'ended') this.evidence.begin(ongoing, atMs);
    // Now, because exports may be silent when the record is written.
    if (kind !== 'ended') this.#isClaimed(subject);
    const openedAtMs = this.evidence.openedAtMs(subject) ?? atMs;
    if (kind === 'ended') {
      const seenAtMs = this.#unseen.get(subject) ?? Infinity;
      const overAtMs = atMs - quietMs - (this.#clockShiftMs.get(subject) ?? 0);
      const endedAtMs = Math.max(attack.startedAtMs, Math.min(Math.round(overAtMs), seenAtMs));
      this.#clockShiftMs.delete(subject);
      this.#unseen.delete(subject);
      this.#reportedTypes.delete(subject);
      this.#traced.delete(subject);
      this.#options.recorder.noteEvidence(subject, this.evidence.evidenceOf(attack));
      this.evidence.end(subject);
      this.#options.recorder.note({
        attack: { ...attack, endedAtMs },
        openedAtMs,
        busyAtMs: endedAtMs,
        tops: this.evidence.topsOf(subject),
        isClaimed: this.#isClaimed(subject),
        snapshot: null,
        isNews: true,
        isPart: partOf !== null,
      });
      this.#claimed.delete(subject);
      return;
    }
    // A rising peak is written with the next report.
    const types = [attack.type, ...(attack.present ?? [])].join();
    const isNews = kind !== 'changed' || this.#reportedTypes.get(subject) !== types;
    this.#reportedTypes.set(subject, types);
    if (isNews) {
      this.#traced.set(subject, worthSamples(this.evidence.topsOf(subject), 0) ?? 0);
      this.#options.recorder.note({
        attack,
        openedAtMs,
        busyAtMs: atMs - quietMs,
        tops: this.evidence.topsOf(subject),
        isClaimed: this.#claimed.has(subject),
        snapshot: ongoing && this.#snapshotOf(attack),
        isNews,
        isPart: false,
      });
    }
    if (kind !== 'changed')
      this.#options.recorder.noteEvidence(subject, this.evidence.evidenceOf(attack));
  }

  /** Reports all ongoing attacks again, so that records are updated and lost writes repeated. */
  #report(nowMs: number): void {
    this.#reportedMs = nowMs;
    const keeps = nowMs - this.#keptMs >= EVIDENCE_MS;
    if (keeps) this.#keptMs = nowMs;
    for (const [subject, state] of ongoingIn(this.#state)) {
      // A continued attack without traffic was not seen.
      if (this.#unseen.has(subject)) continue;
      const isNews = this.#isTraced(subject) || this.#isConfirmed(subject);
      this.#options.recorder.note(this.#seenOf(state, isNews));
      const { attack } = state.phase;
      if (keeps) this.#options.recorder.noteEvidence(subject, this.evidence.evidenceOf(attack));
    }
  }

  #seenOf(state: OngoingState, isNews: boolean): Seen {
    const { attack, quietMs } = state.phase;
    const { subject } = attack;
    return {
      attack,
      openedAtMs: this.evidence.openedAtMs(subject) ?? attack.startedAtMs,
      busyAtMs: this.#wallMs() - quietMs,
      tops: this.evidence.topsOf(subject),
      isClaimed: isNews ? this.#isClaimed(subject) : this.#claimed.has(subject),
      snapshot: this.#snapshotOf(attack),
      isNews,
      isPart: false,
    };
  }

  #snapshotOf(attack: Attack): Snapshot {
    const { subject } = attack;
    return {
      state: this.#state,
      thresholds: this.#options.scopes.thresholdsOf(subject),
      atMs: this.#wallMs(),
      evidenceFromMs: this.evidence.openedAtMs(subject),
      evidenceUntil: this.evidence.snapshotOf(attack),
    };
  }

  #isTraced(subject: string): boolean {
    const tops = this.evidence.topsOf(subject);
    const samples = worthSamples(tops, this.#traced.get(subject) ?? 0);
    if (samples !== null) this.#traced.set(subject, samples);
    return samples !== null;
  }
}
