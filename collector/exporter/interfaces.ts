/** Interfaces of one exporter; a router has thousands at most. */
const MAX_INTERFACES = 8_192;
/** An interface of which nothing was told for so long may have been set to tell nothing. */
const KEPT_MS = 600_000;

/** As IPFIX numbers it (element 61); -1: not told. */
export const INGRESS = 0;
export const EGRESS = 1;
export const UNTOLD = -1;
export type Direction = typeof INGRESS | typeof EGRESS | typeof UNTOLD;

/**
 * - `once`: nothing else tells of these packets, as far as is known;
 * - `twice`: they were told when they came in;
 * - `unsure`: the exporter tells what goes out as well as what comes in, and not by which interface this came in.
 */
export type Told = 'once' | 'twice' | 'unsure';

/**
 * By which of its interfaces an exporter tells what comes in. What goes out is told a second time where it came in by
 * one of these, and only there: an exporter may well tell both directions of one interface, its uplink, and nothing of
 * the others.
 */
export class Interfaces {
  readonly #metered = new Map<number, number>();
  #ingressMs = -Infinity;

  /** `input` by the exporter's own numbers; 0: not told. */
  judge(direction: Direction, input: number, nowMs: number): Told {
    if (direction === UNTOLD) return 'once';
    if (direction === INGRESS) {
      this.#note(input, nowMs);
      return 'once';
    }
    if (input === 0) return nowMs - this.#ingressMs > KEPT_MS ? 'once' : 'unsure';
    const seenMs = this.#metered.get(input);
    return seenMs === undefined || nowMs - seenMs > KEPT_MS ? 'once' : 'twice';
  }

  get size(): number {
    return this.#metered.size;
  }

  #note(input: number, nowMs: number): void {
    this.#ingressMs = nowMs;
    if (input === 0) return;
    const isNew = !this.#metered.has(input);
    if (isNew && this.#metered.size >= MAX_INTERFACES) {
      for (const oldest of this.#metered.keys()) {
        this.#metered.delete(oldest);
        break;
      }
    }
    this.#metered.set(input, nowMs);
  }
}
