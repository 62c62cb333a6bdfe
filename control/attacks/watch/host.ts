import type { Attack, AttackEvent } from '@portcullis/core/attacks/attack.ts';
import { type DetectorState, INITIAL, step } from '@portcullis/core/attacks/detector.ts';
import { accept, type Counters, forget, take } from '@portcullis/core/attacks/merge.ts';
import { ongoingIn, type Resumable, resume, toResumable } from '@portcullis/core/attacks/resume.ts';
import { BUCKET_MS, type Sample, type SubjectSample } from '@portcullis/core/attacks/sample.ts';
import type { WatchSamples, WireSample } from '@portcullis/link/watch-messages.ts';
import type { Seen } from '../record/plan.ts';
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
  #counters: Counters = new Map();
  #state: DetectorState = INITIAL;
  #steppedMs: number;
  #reportedMs = 0;
  #keptMs = 0;

  constructor(options: HostOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? (() => performance.now());
    this.#wallMs = options.wallMs ?? (() => Date.now());
    this.#steppedMs = this.#nowMs();
  }

  /** What an agent of a site counted. Told twice, it counts once. */
  accept(agent: string, site: string, message: WatchSamples): void {
    const { instance, sequence, atMs, samples } = message;
    const before = this.#heard.get(agent);
    if (before?.instance === instance && sequence <= before.sequence) return;
    this.#heard.set(agent, { instance, sequence });
    const wallMs = this.#wallMs();
    const dated = samples.map((sample) => {
      // By our clock: theirs may be set to anything.
      const ageMs = Math.min(MAX_AGE_MS, Math.max(0, atMs - sample.atMs));
      return this.#held(sample, wallMs - ageMs);
    });
    this.#counters = accept(this.#counters, agent, site, dated, this.#nowMs());
    this.tick();
  }

  /** Called each bucket's time, and whenever something came. */
  tick(): void {
    const nowMs = this.#nowMs();
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
  adopt(known: Resumable, seenAtMs: number, openedAtMs: number): void {
    const { subject } = known.attack;
    if (ongoingIn(this.#state).has(subject)) return;
    this.#state = resume(this.#state, known);
    this.#unseen.set(subject, seenAtMs);
    this.trails.begin(known.attack, openedAtMs);
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

  #tell({ kind, attack, atMs }: AttackEvent): void {
    const { subject } = attack;
    if (kind === 'opened' || kind === 'continued') this.trails.begin(attack, atMs);
    const openedAtMs = this.trails.openedAtMs(subject) ?? atMs;
    if (kind === 'ended') {
      const seenAtMs = this.#unseen.get(subject) ?? Infinity;
      const endedAtMs = Math.max(attack.startedAtMs, Math.min(attack.endedAtMs ?? atMs, seenAtMs));
      this.#unseen.delete(subject);
      this.#named.delete(subject);
      this.#traced.delete(subject);
      this.#options.noteEvidence(subject, this.trails.evidenceOf(attack));
      this.trails.end(subject);
      const ended = { ...attack, endedAtMs };
      this.#options.note({ attack: ended, openedAtMs, resumable: null, isNews: true });
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
      this.#options.note({ attack, openedAtMs, resumable, isNews });
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
      const { attack } = state.phase;
      const openedAtMs = this.trails.openedAtMs(subject) ?? attack.startedAtMs;
      const isNews = this.#isTraced(subject);
      this.#options.note({ attack, openedAtMs, resumable: toResumable(state), isNews });
      if (keeps) this.#options.noteEvidence(subject, this.trails.evidenceOf(attack));
    }
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
