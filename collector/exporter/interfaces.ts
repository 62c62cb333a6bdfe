import { putBounded } from './put-bounded.ts';

/** The most exporting processes behind one address. */
const MAX_PROCESSES = 256;
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
  /** The time of the last ingress export by process. */
  readonly #ingress = new Map<number, number>();

  /** `port`: of the exporting process, each of which numbers its interfaces. `input`: the interface; 0 if absent. */
  classify(port: number, direction: Direction, input: number, nowMs: number): Reported {
    if (direction === UNREPORTED) return 'once';
    if (direction === INGRESS) {
      this.#note(port, input, nowMs);
      return 'once';
    }
    const seenMs = input === 0 ? this.#ingress.get(port) : this.#metered.get(keyOf(port, input));
    if (seenMs === undefined || nowMs - seenMs > KEPT_MS) return 'once';
    return input === 0 ? 'unsure' : 'twice';
  }

  get size(): number {
    return this.#metered.size;
  }

  #note(port: number, input: number, nowMs: number): void {
    keep(this.#ingress, port, nowMs, MAX_PROCESSES);
    if (input !== 0) keep(this.#metered, keyOf(port, input), nowMs, MAX_INTERFACES);
  }
}

/** For every record, so a known entry stays where it is. */
function keep(times: Map<number, number>, key: number, nowMs: number, limit: number): void {
  if (times.has(key)) times.set(key, nowMs);
  else putBounded(times, key, nowMs, limit);
}

/** Interface numbers have 32 bits. */
function keyOf(port: number, input: number): number {
  return port * 0x1_0000_0000 + (input >>> 0);
}
