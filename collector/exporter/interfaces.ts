import { putBounded } from './put-bounded.ts';

/** The most exporting processes behind one address. */
const MAX_PROCESSES = 32;
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
  /** State of each exporting process by its port, because each numbers its interfaces. */
  readonly #processes = new Map<number, Process>();
  /** The process of the last record: most datagrams have many. */
  #lastPort = -1;
  #last: Process = begun();

  /** `port`: of the exporting process. `input`: the ingress interface; 0 if absent. */
  classify(port: number, direction: Direction, input: number, nowMs: number): Reported {
    if (direction === UNREPORTED) return 'once';
    const process = port === this.#lastPort ? this.#last : this.#processOf(port);
    const { metered } = process;
    if (direction === INGRESS) {
      process.ingressMs = nowMs;
      if (input === 0) return 'once';
      // For every record, so a known interface stays where it is.
      if (metered.has(input)) metered.set(input, nowMs);
      else putBounded(metered, input, nowMs, MAX_INTERFACES);
      return 'once';
    }
    if (input === 0) return nowMs - process.ingressMs > KEPT_MS ? 'once' : 'unsure';
    const seenMs = metered.get(input);
    return seenMs === undefined || nowMs - seenMs > KEPT_MS ? 'once' : 'twice';
  }

  get size(): number {
    return [...this.#processes.values()].reduce((sum, { metered }) => sum + metered.size, 0);
  }

  #processOf(port: number): Process {
    const process = this.#processes.get(port) ?? begun();
    if (!this.#processes.has(port)) putBounded(this.#processes, port, process, MAX_PROCESSES);
    this.#lastPort = port;
    this.#last = process;
    return process;
  }
}

interface Process {
  /** The time of the last ingress export of each interface, and of any. */
  readonly metered: Map<number, number>;
  ingressMs: number;
}

function begun(): Process {
  return { metered: new Map(), ingressMs: Number.NEGATIVE_INFINITY };
}
