/** Means over equal steps from `startMs` on; two lists of one length. */
export interface AttackSeries {
  readonly startMs: number;
  readonly stepMs: number;
  readonly pps: readonly number[];
  readonly bps: readonly number[];
}
export const MAX_SERIES_POINTS = 600;

const FIRST_STEP_MS = 1_000;

/**
 * What a subject got over time, in equal steps; twice as long ones whenever there would be too many. Time is that of
 * buckets: a clock that is set moves nothing.
 */
export class Series {
  #startMs: number;
  #stepMs: number;
  readonly #pps: number[];
  readonly #bps: number[];
  /** Of the step that is not full. */
  #packets = 0;
  #bits = 0;
  #filledMs = 0;

  /** `known`: goes on where that ended. */
  constructor(startMs: number, known: AttackSeries | null = null) {
    this.#startMs = known?.startMs ?? startMs;
    this.#stepMs = known?.stepMs ?? FIRST_STEP_MS;
    this.#pps = [...(known?.pps ?? [])];
    this.#bps = [...(known?.bps ?? [])];
  }

  add(durationMs: number, packets: number, bits: number): void {
    let left = durationMs;
    while (left > 0) {
      const partMs = Math.min(left, this.#stepMs - this.#filledMs);
      this.#packets += (packets * partMs) / durationMs;
      this.#bits += (bits * partMs) / durationMs;
      this.#filledMs += partMs;
      left -= partMs;
      if (this.#filledMs >= this.#stepMs) this.#close();
    }
  }

  /** Nobody looked for so long. */
  skip(durationMs: number): void {
    // What is longer than all there is room for would be halved to nothing.
    this.add(Math.min(durationMs, this.#stepMs * MAX_SERIES_POINTS), 0, 0);
  }

  /** The wall clock was set. */
  shift(byMs: number): void {
    this.#startMs = Math.max(0, this.#startMs + byMs);
  }

  get value(): AttackSeries {
    const { length } = this.#pps;
    const isBegun = this.#filledMs > 0 && length < MAX_SERIES_POINTS;
    const seconds = this.#filledMs / 1000;
    return {
      startMs: this.#startMs,
      stepMs: this.#stepMs,
      pps: isBegun ? [...this.#pps, this.#packets / seconds] : [...this.#pps],
      bps: isBegun ? [...this.#bps, this.#bits / seconds] : [...this.#bps],
    };
  }

  #close(): void {
    const seconds = this.#stepMs / 1000;
    this.#pps.push(this.#packets / seconds);
    this.#bps.push(this.#bits / seconds);
    this.#packets = 0;
    this.#bits = 0;
    this.#filledMs = 0;
    if (this.#pps.length < MAX_SERIES_POINTS) return;
    halve(this.#pps);
    halve(this.#bps);
    this.#stepMs *= 2;
  }
}

/** What of it was before: the step within which that is, is left out. */
export function seriesUntil(series: AttackSeries, untilMs: number): AttackSeries {
  const count = Math.max(0, Math.floor((untilMs - series.startMs) / series.stepMs));
  return { ...series, pps: series.pps.slice(0, count), bps: series.bps.slice(0, count) };
}

function halve(values: number[]): void {
  const { length } = values;
  for (let index = 0; index * 2 < length; index++) {
    const first = values[index * 2] ?? 0;
    values[index] = (first + (values[index * 2 + 1] ?? first)) / 2;
  }
  values.length = Math.ceil(length / 2);
}
