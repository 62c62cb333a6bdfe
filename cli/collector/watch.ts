import type { AttackEvent } from '@portcullis/core/attacks/attack.ts';
import {
  type DetectorSettings,
  type DetectorState,
  INITIAL,
  step,
} from '@portcullis/core/attacks/detector.ts';
import type { Sample } from '@portcullis/core/attacks/sample.ts';

export interface WatchedSecond {
  readonly at: string;
  /** Over how long the rates are. */
  readonly seconds: number;
  readonly destinations: number;
  readonly top: readonly Destination[];
  readonly events: readonly AttackEvent[];
}

export interface Destination {
  readonly ip: string;
  readonly pps: number;
  readonly bps: number;
}

const SECOND_MS = 990;

/** Adds up samples, and lets a detector judge them, until it is asked for what there is. */
export class Watch {
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

  /** A second is over, or an attack began or ended: nobody waits for the second to hear of that. */
  get hasNews(): boolean {
    return this.#durationMs >= SECOND_MS || this.#events.some(({ kind }) => kind !== 'changed');
  }

  /** Rates over the time since it was last asked, and what happened in it; begins anew. */
  take(count: number): WatchedSecond {
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
