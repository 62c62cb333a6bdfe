/** Mean values of equal steps from `startMs`; both lists have the same length. */
export interface AttackSeries {
  readonly startMs: number;
  readonly stepMs: number;
  readonly pps: readonly number[];
  readonly bps: readonly number[];
}
export const MAX_SERIES_POINTS = 600;

const FIRST_STEP_MS = 1_000;

/**
 * The traffic of a subject over time in equal steps, which double in length when there are too many. Time advances with
 * buckets, not with the wall clock.
 */
export class Series {
  readonly #startMs: number;
  #stepMs: number;
  /** Values are only added to a list; a list of longer steps replaces it. */
  #pps: number[];
  #bps: number[];
  /** The incomplete step. */
  #packets = 0;
  #bits = 0;
  #filledMs = 0;

  /** `known`: a stored series to continue. */
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

  /** Adds a gap without measurements. */
  skip(durationMs: number): void {
    // A gap longer than the capacity would only halve the series repeatedly.
    this.add(Math.min(durationMs, this.#stepMs * MAX_SERIES_POINTS), 0, 0);
  }

  get value(): AttackSeries {
    return this.snapshot()();
  }

  /** The series of this moment, which is copied only when it is read. */
  snapshot(): () => AttackSeries {
    const [allPps, allBps, startMs, stepMs] = [this.#pps, this.#bps, this.#startMs, this.#stepMs];
    const { length } = allPps;
    const isBegun = this.#filledMs > 0 && length < MAX_SERIES_POINTS;
    const seconds = this.#filledMs / 1000;
    const [pps, bps] = isBegun ? [[this.#packets / seconds], [this.#bits / seconds]] : [[], []];
    return () => ({
      startMs,
      stepMs,
      pps: [...allPps.slice(0, length), ...pps],
      bps: [...allBps.slice(0, length), ...bps],
    });
  }

  #close(): void {
    const seconds = this.#stepMs / 1000;
    this.#pps.push(this.#packets / seconds);
    this.#bps.push(this.#bits / seconds);
    this.#packets = 0;
    this.#bits = 0;
    this.#filledMs = 0;
    if (this.#pps.length < MAX_SERIES_POINTS) return;
    this.#pps = halved(this.#pps);
    this.#bps = halved(this.#bps);
    this.#stepMs *= 2;
  }
}

/** The part before a time, without the step that contains it. */
export function seriesUntil(series: AttackSeries, untilMs: number): AttackSeries {
  const count = Math.max(0, Math.floor((untilMs - series.startMs) / series.stepMs));
  return { ...series, pps: series.pps.slice(0, count), bps: series.bps.slice(0, count) };
}

function halved(values: readonly number[]): number[] {
  return Array.from({ length: Math.ceil(values.length / 2) }, (_, index) => {
    const first = values[index * 2] ?? 0;
    return (first + (values[index * 2 + 1] ?? first)) / 2;
  });
}
