import type { Attack, AttackEvent } from '@portcullis/core/attacks/attack.ts';
import { type DetectorState, INITIAL, step } from '@portcullis/core/attacks/detector.ts';
import {
  accept,
  type Counters,
  forget,
  NO_COUNTERS,
  take,
} from '@portcullis/core/attacks/merge.ts';
import {
  goOnAs,
  handOver,
  ongoingIn,
  ongoingOf,
  type Resumable,
  resume,
  toResumable,
} from '@portcullis/core/attacks/resume.ts';
import type { Ongoing, SubjectState } from '@portcullis/core/attacks/subject.ts';
import { SHORT_MS } from '@portcullis/core/attacks/window.ts';
import { BUCKET_MS, type Sample, type SubjectSample } from '@portcullis/core/attacks/sample.ts';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import type { WatchSamples, WireSample } from '@portcullis/link/messages/attacks.ts';
import type { HandedOver, Seen } from '../record/plan.ts';
import type { Kept } from '../record/store.ts';
import { resumableOfKept, seriesOfKept, shownSubject } from './kept.ts';
import type { ScopeTable } from './scopes.ts';
import { Trails } from './trails.ts';

export interface HostOptions {
  readonly scopes: Pick<ScopeTable, 'of' | 'thresholdsOf'>;
  readonly note: (seen: Seen) => void;
  readonly noteEvidence: (subject: string, evidence: object) => void;
  /** Milliseconds of a clock that does not jump. */
  readonly nowMs?: () => number;
  readonly wallMs?: () => number;
}

/** Of more that get much at a time, their prefixes are judged: a step must not take as long as its bucket. */
const MAX_SUBJECTS = 16_384;
/** When nobody tells anything for so long, nothing is what is counted: attacks end. */
const SILENCE_MS = 5_000;
/** Who was silent for so long is forgotten. */
const GONE_MS = 60_000;
/** Records follow their attacks so often, evidence so often. */
const REPORT_MS = 1_000;
const EVIDENCE_MS = 10_000;
/** From so many samples on it is worth acting on who sends an attack and where to; and again from so many times as many. */
const WORTH_SAMPLES = 10;
const WORTH_TIMES = 4;
/** Of who counts every packet. */
const ALL_SAMPLES = 256;
/** A clock that moves so far against one that does not jump was set. */
const CLOCK_SET_MS = 1_000;
/** What an agent says of how old its sample is, is believed so far. */
const MAX_AGE_MS = 10_000;

/** The detector over what every agent counts. No I/O: what it says is noted elsewhere. */
export class DetectorHost {
  readonly trails = new Trails();
  readonly #options: HostOptions;
  readonly #nowMs: () => number;
  readonly #wallMs: () => number;
  /** By agent, the instance and the last sequence of it. */
  readonly #heard = new Map<string, { readonly instance: string; readonly sequence: number }>();
  /** Attacks gone on with, of which nothing was seen since: when it was seen last. */
  readonly #unseen = new Map<string, number>();
  /** What kind each was last said to be. */
  readonly #named = new Map<string, string>();
  /** By how many samples it was known who sends it, when that was last told. */
  readonly #traced = new Map<string, number>();
  #counters: Counters = NO_COUNTERS;
  #state: DetectorState = INITIAL;
  /** By how much our clock was set since each attack that goes on began. */
  readonly #setBy = new Map<string, number>();
  /** The wall clock less the one that does not jump. */
  #clockMs: number;
  #steppedMs: number;
  #reportedMs = 0;
  #keptMs = 0;

  constructor(options: HostOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#wallMs = options.wallMs ?? (() => Date.now());
    this.#steppedMs = this.#nowMs();
    this.#clockMs = this.#wallMs() - this.#nowMs();
  }

  /** What an agent of a site counted. Told twice, it counts once. */
  accept({ kind, name: of }: AgentRef, site: string, message: WatchSamples): void {
    const name = `${kind}/${of}`;
    const { instance, sequence, atMs, samples } = message;
    const before = this.#heard.get(name);
    if (before?.instance === instance && sequence <= before.sequence) return;
    this.#heard.set(name, { instance, sequence });
    const wallMs = this.#wallMs();
    const dated = samples.map((sample) => {
      // By our clock: theirs may be set to anything.
      const ageMs = Math.min(MAX_AGE_MS, Math.max(0, atMs - sample.atMs));
      return this.#held(sample, wallMs - ageMs);
    });
    const counting = kind === 'edge' ? 'packets' : 'exports';
    this.#counters = accept(this.#counters, { name, site, counting }, dated, this.#nowMs());
    this.tick();
  }

  /** Called each bucket's time, and whenever something came. */
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
      // A process that stood still does not make up for it.
      this.#steppedMs = Math.max(this.#steppedMs, nowMs - SILENCE_MS);
    }
    if (nowMs - this.#reportedMs >= REPORT_MS) this.#report(nowMs);
  }

  /** Goes on with an attack that another process saw last. */
  adopt(kept: Kept, seenAtMs: number): void {
    const subject = shownSubject(kept.subject);
    if (ongoingOf(this.#state, subject) !== null) return;
    const known = this.#resumable(kept, subject);
    this.#state = resume(this.#state, known);
    this.#unseen.set(subject, seenAtMs);
    this.#goOnTrail(known.attack, kept);
  }

  /** What began is a recorded attack, which goes on: as if it had been known all the time. Again does nothing. */
  goOn(kept: Kept): Seen | null {
    const subject = shownSubject(kept.subject);
    const one = ongoingOf(this.#state, subject);
    if (one === null) return null;
    if (one.phase.attack.startedAtMs !== kept.startedAt.getTime()) {
      const thresholds = this.#options.scopes.thresholdsOf(subject);
      this.#state = goOnAs(this.#state, this.#resumable(kept, subject), thresholds);
    }
    const whole = ongoingOf(this.#state, subject) ?? one;
    this.#goOnTrail(whole.phase.attack, kept);
    const seen = this.#seenOf(whole, true);
    // Instead of what waits to be written: that is of the newer part alone.
    this.#options.note({ ...seen, isNews: false });
    this.#options.noteEvidence(subject, this.trails.evidenceOf(whole.phase.attack));
    return seen;
  }

  #resumable(kept: Kept, subject: string): Resumable {
    return resumableOfKept(kept, subject, this.#options.scopes.thresholdsOf(subject));
  }

  #goOnTrail(attack: Attack, kept: Kept): void {
    this.trails.goOn(attack, seriesOfKept(kept), kept.openedAt.getTime(), this.#wallMs());
  }

  /** Another has the subject since then: what goes on is an attack of his. Asked again, it changes nothing. */
  handOver(subject: string, sinceMs: number): HandedOver | null {
    const one = ongoingOf(this.#state, subject);
    if (one === null) return null;
    const { attack } = one.phase;
    const atMs = this.#wallMs();
    if (attack.startedAtMs >= sinceMs) return { seen: this.#seenOf(one, false), before: null };
    const before = this.trails.evidenceOf(attack, sinceMs);
    // It may have gone on again only when the subject was his already.
    const wentOnMs = (this.trails.openedAtMs(subject) ?? -Infinity) - SHORT_MS;
    const startedAtMs = Math.round(Math.max(sinceMs, wentOnMs));
    const thresholds = this.#options.scopes.thresholdsOf(subject);
    this.#state = handOver(this.#state, subject, thresholds, startedAtMs, atMs);
    const anew = ongoingOf(this.#state, subject) ?? one;
    this.#setBy.delete(subject);
    this.trails.end(subject);
    this.trails.begin(anew.phase.attack, atMs);
    this.#options.noteEvidence(subject, this.trails.evidenceOf(anew.phase.attack));
    const seen = this.#seenOf(anew, true);
    // Instead of what waits to be written: that is of both.
    this.#options.note({ ...seen, isNews: false });
    return { seen, before };
  }

  ongoing(): Attack[] {
    return [...ongoingIn(this.#state).values()].map(({ phase }) => phase.attack);
  }

  /** Only of what somebody holds, in the spelling that it is asked for by. */
  #held(sample: WireSample, atMs: number): Sample {
    const { scopes } = this.#options;
    const isHeld = (one: SubjectSample): boolean => scopes.of(one.subject) !== null;
    for (const tops of sample.tops) {
      if (scopes.of(tops.subject) !== null) this.trails.noteTops(tops);
    }
    return {
      atMs,
      durationMs: sample.durationMs,
      addresses: sample.addresses.filter(isHeld),
      prefixes: sample.prefixes.filter(isHeld),
    };
  }

  /** An attack ends by the clock that it began by: it was as long as it was. */
  #followClock(): void {
    const clockMs = this.#wallMs() - this.#nowMs();
    const byMs = clockMs - this.#clockMs;
    this.#clockMs = clockMs;
    if (Math.abs(byMs) < CLOCK_SET_MS) return;
    for (const subject of ongoingIn(this.#state).keys()) {
      this.#setBy.set(subject, (this.#setBy.get(subject) ?? 0) + byMs);
    }
  }

  #step(sample: Sample): void {
    const { thresholdsOf } = this.#options.scopes;
    const { state, events } = step(this.#state, sample, {
      thresholdsOf,
      maxSubjects: MAX_SUBJECTS,
    });
    this.#state = state;
    for (const event of events) this.#tell(event);
    this.trails.add(sample);
    for (const subject of this.#unseen.keys()) {
      const one = state.addresses.get(subject) ?? state.prefixes.get(subject);
      if (one?.phase.name === 'ongoing' && one.phase.quietMs === 0) this.#unseen.delete(subject);
    }
  }

  #tell({ kind, attack, atMs, quietMs }: AttackEvent): void {
    const { subject } = attack;
    if (kind === 'opened' || kind === 'continued') this.trails.begin(attack, atMs);
    const openedAtMs = this.trails.openedAtMs(subject) ?? atMs;
    if (kind === 'ended') {
      const seenAtMs = this.#unseen.get(subject) ?? Infinity;
      const overAtMs = atMs - quietMs - (this.#setBy.get(subject) ?? 0);
      const endedAtMs = Math.max(attack.startedAtMs, Math.min(Math.round(overAtMs), seenAtMs));
      this.#setBy.delete(subject);
      this.#unseen.delete(subject);
      this.#named.delete(subject);
      this.#traced.delete(subject);
      this.#options.noteEvidence(subject, this.trails.evidenceOf(attack));
      this.trails.end(subject);
      const ended = { ...attack, endedAtMs };
      const busyAtMs = endedAtMs;
      this.#options.note({ attack: ended, openedAtMs, busyAtMs, resumable: null, isNews: true });
      return;
    }
    const state = this.#state.addresses.get(subject) ?? this.#state.prefixes.get(subject);
    const resumable =
      state?.phase.name === 'ongoing' ? toResumable({ ...state, phase: state.phase }) : null;
    // A peak that rises is written with the next report.
    const isNews = kind !== 'changed' || this.#named.get(subject) !== attack.type;
    this.#named.set(subject, attack.type);
    if (isNews) {
      this.#traced.set(subject, this.#samplesOf(subject));
      const busyAtMs = atMs - quietMs;
      this.#options.note({ attack, openedAtMs, busyAtMs, resumable, isNews });
    }
    if (kind !== 'changed') this.#options.noteEvidence(subject, this.trails.evidenceOf(attack));
  }

  /** Everything that goes on, once more: records keep up, and what was not written is. */
  #report(nowMs: number): void {
    this.#reportedMs = nowMs;
    const keeps = nowMs - this.#keptMs >= EVIDENCE_MS;
    if (keeps) this.#keptMs = nowMs;
    for (const [subject, state] of ongoingIn(this.#state)) {
      // What nobody has seen since is not seen by us either.
      if (this.#unseen.has(subject)) continue;
      this.#options.note(this.#seenOf(state, this.#isTraced(subject)));
      const { attack } = state.phase;
      if (keeps) this.#options.noteEvidence(subject, this.trails.evidenceOf(attack));
    }
  }

  #seenOf(state: SubjectState & { phase: Ongoing }, isNews: boolean): Seen {
    const { attack, quietMs } = state.phase;
    const openedAtMs = this.trails.openedAtMs(attack.subject) ?? attack.startedAtMs;
    const busyAtMs = this.#wallMs() - quietMs;
    return { attack, openedAtMs, busyAtMs, resumable: toResumable(state), isNews };
  }

  /** A flood is known before it is known who sends it: what is done against it waits for neither. */
  #isTraced(subject: string): boolean {
    const samples = this.#samplesOf(subject);
    const told = this.#traced.get(subject) ?? 0;
    if (samples < Math.max(WORTH_SAMPLES, told * WORTH_TIMES)) return false;
    this.#traced.set(subject, samples);
    return true;
  }

  #samplesOf(subject: string): number {
    const tops = this.trails.topsOf(subject);
    return tops === null ? 0 : (tops.sampled?.samples ?? ALL_SAMPLES);
  }
}
