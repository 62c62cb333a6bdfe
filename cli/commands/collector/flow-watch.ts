import type { AttackEvent } from '@portcullis/core/attacks/attack.ts';
import {
  type DetectorSettings,
  type DetectorState,
  INITIAL,
  step,
} from '@portcullis/core/attacks/detector/detector.ts';
import type { Sample } from '@portcullis/core/attacks/sample.ts';

export interface FlowSummary {
  readonly at: string;
  /** The duration that the rates are averaged over. */
  readonly seconds: number;
  readonly destinations: number;
  readonly top: readonly Destination[];
  readonly events: readonly AttackEvent[];
}

interface Destination {
  readonly ip: string;
  readonly pps: number;
  readonly bps: number;
}

/** Slightly below a second: durations of samples add up inexactly. */
const SECOND_MS = 990;

/** Adds up samples and runs the detector on them, until `take` returns the summary. */
export class FlowWatch {
  readonly #settings: DetectorSettings;
  #detector: DetectorState = INITIAL;
  #totals = new Map<string, { packets: number; bytes: number }>();
  #events: AttackEvent[] = [];
  #durationMs = 0;
  #atMs = 0;

  constructor(settings: DetectorSettings) {
    this.#settings = settings;
  }

  add(sample: Sample): void {
    const { state, events } = step(this.#detector, sample, this.#settings);
    this.#detector = state;
    this.#events.push(...events);
    this.#durationMs += sample.durationMs;
    this.#atMs = sample.atMs;
    for (const { subject, packets, bytes } of sample.addresses) {
      const total = this.#totals.get(subject);
      if (total === undefined) this.#totals.set(subject, { packets, bytes });
      else {
        total.packets += packets;
        total.bytes += bytes;
      }
    }
  }

  /** True when a second is over, and at once when an attack starts or ends. */
  get isDue(): boolean {
    return this.#durationMs >= SECOND_MS || this.#events.some(({ kind }) => kind !== 'changed');
  }

  /** Returns the rates and events since the previous call. */
  take(count: number): FlowSummary {
    const seconds = this.#durationMs / 1000;
    const totals = [...this.#totals];
    const events = this.#events;
    this.#totals = new Map();
    this.#events = [];
    this.#durationMs = 0;
    const top = totals
      .toSorted(([, a], [, b]) => b.packets - a.packets)
      .slice(0, count)
      .map(([ip, { packets, bytes }]) => ({
        ip,
        pps: Math.round(packets / seconds),
        bps: Math.round((bytes * 8) / seconds),
      }));
    const at = new Date(this.#atMs).toISOString();
    return { at, seconds, destinations: totals.length, top, events };
  }
}
