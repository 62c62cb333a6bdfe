import { putBounded } from './put-bounded.ts';

/** The most interfaces of one exporter; a router has thousands at most. */
const MAX_INTERFACES = 8_192;
/** An interface without exports for this time may have been configured off. */
const KEPT_MS = 600_000;

/** The values of IPFIX element 61; -1 if absent. */
export const INGRESS = 0;
export const EGRESS = 1;
export const UNREPORTED = -1;
export type Direction = typeof INGRESS | typeof EGRESS | typeof UNREPORTED;

/**
 * - `once`: no other record of these packets is known;
 * - `twice`: they were exported on ingress;
 * - `unsure`: the exporter exports both directions and does not name the ingress interface.
 */
export type Reported = 'once' | 'twice' | 'unsure';

/**
 * Tracks the interfaces with ingress exports. An egress record is a duplicate only if its packets came in by one of
 * these: an exporter may export both directions of its uplink and nothing of other interfaces.
 */
export class Interfaces {
  readonly #metered = new Map<number, number>();
  #ingressMs = -Infinity;

  /** `input`: the exporter's interface number; 0 if absent. */
  classify(direction: Direction, input: number, nowMs: number): Reported {
    if (direction === UNREPORTED) return 'once';
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
    // For every record, so a known interface stays where it is.
    if (this.#metered.has(input)) this.#metered.set(input, nowMs);
    else putBounded(this.#metered, input, nowMs, MAX_INTERFACES);
  }
}
