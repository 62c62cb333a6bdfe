import type { Aim } from './frames.ts';

/** One flood, or other traffic, at a steady rate. */
export interface FloodPlan extends Aim {
  readonly name: string;
  readonly device: string;
  readonly ifindex: number;
  readonly pps: number;
  /** The rate at its start, from which it rises steadily to `pps`; `pps` without. */
  readonly fromPps?: number;
  readonly seconds: number;
  /** So much later than the others; at once without. */
  readonly startSeconds?: number;
  /** Seconds of pause after each `seconds`, and how often; once without. */
  readonly times?: number;
  readonly pauseSeconds?: number;
  /** So many are made, each of a source of its own, and sent over and over: as many as sent, and none comes twice. */
  readonly frames?: number;
}

/** The traffic that really left, by the sender's own count. */
export interface FloodReport {
  readonly name: string;
  readonly packets: number;
  /** The number of packets that its plan asks for: fewer are sent when the machine keeps the sender waiting. */
  readonly plannedPackets: number;
  readonly bytes: number;
  /** Wall clock of the first and the last packet. */
  readonly beganAtMs: number;
  readonly endedAtMs: number;
  /** The most of any second, of IP packets without their Ethernet header. */
  readonly peakPps: number;
  readonly peakBps: number;
  /** Packets in each 10 ms since all floods began; null: none. */
  readonly slots: readonly (number | null)[];
  /** The longest pause in the time in which it should have been sent: how long the machine left it to wait. */
  readonly longestPauseMs: number;
}

const SLOT_MS = 10;
const SLOTS_PER_SECOND = 1000 / SLOT_MS;
/** The limit of what is due after a pause of the machine, no more is made up for: a flood stays at its rate. */
const CATCH_UP_MS = 20;

/** When packets of a flood are due, and what has been sent of it. Times are milliseconds since all floods began. */
export class Schedule {
  readonly plan: FloodPlan;
  readonly #startMs: number;
  readonly #slots: number[] = [];
  #due = 0;
  #atMs = 0;
  #packets = 0;
  #bytes = 0;
  #firstMs = Number.NaN;
  #lastMs = 0;
  #longestPauseMs = 0;

  constructor(plan: FloodPlan) {
    this.plan = plan;
    this.#startMs = (plan.startSeconds ?? 0) * 1000;
    this.#atMs = this.#startMs;
  }

  /** How many packets are to be sent now. */
  dueAt(atMs: number): number {
    const pps = this.#rateAt((this.#atMs + atMs) / 2);
    const passed = atMs - this.#atMs;
    if (passed < 0) return 0;
    this.#atMs = atMs;
    if (!this.#isOnAt(atMs)) return 0;
    this.#longestPauseMs = Math.max(this.#longestPauseMs, passed);
    this.#due = Math.min(
      this.#due + (pps * passed) / 1000,
      Math.max(1, (pps * CATCH_UP_MS) / 1000),
    );
    return Math.floor(this.#due);
  }

  note(atMs: number, packets: number, bytes: number): void {
    if (packets === 0) return;
    const slot = Math.floor(atMs / SLOT_MS);
    this.#slots[slot] = (this.#slots[slot] ?? 0) + packets;
    this.#due -= packets;
    this.#packets += packets;
    this.#bytes += bytes;
    if (Number.isNaN(this.#firstMs)) this.#firstMs = atMs;
    this.#lastMs = atMs;
  }

  isOverAt(atMs: number): boolean {
    const { seconds, times = 1, pauseSeconds = 0 } = this.plan;
    return atMs - this.#startMs >= (seconds * times + pauseSeconds * (times - 1)) * 1000;
  }

  /** `epochMs`: the wall clock when it began. */
  report(epochMs: number): FloodReport {
    const peakPps = peakOf([this.#slots]);
    const { pps, fromPps = pps, seconds, times = 1 } = this.plan;
    return {
      name: this.plan.name,
      packets: this.#packets,
      plannedPackets: ((fromPps + pps) / 2) * seconds * times,
      bytes: this.#bytes,
      beganAtMs: epochMs + this.#firstMs,
      endedAtMs: epochMs + this.#lastMs,
      peakPps,
      slots: Array.from(this.#slots, (packets) => packets ?? null),
      longestPauseMs: this.#longestPauseMs,
      peakBps: (peakPps * this.#bytes * 8) / Math.max(1, this.#packets),
    };
  }

  #rateAt(atMs: number): number {
    const { pps, fromPps = pps, seconds } = this.plan;
    const share = Math.min(1, Math.max(0, (atMs - this.#startMs) / (seconds * 1000)));
    return fromPps + (pps - fromPps) * share;
  }

  #isOnAt(atMs: number): boolean {
    const { seconds, pauseSeconds = 0 } = this.plan;
    return (
      !this.isOverAt(atMs) && ((atMs - this.#startMs) / 1000) % (seconds + pauseSeconds) < seconds
    );
  }
}

/** Packets of a flood that were sent in this time of the wall clock, to the 10 ms. */
export function sentBetween(
  { slots, beganAtMs }: Pick<FloodReport, 'slots' | 'beganAtMs'>,
  fromMs: number,
  toMs: number,
): number {
  const first = slots.findIndex((packets) => packets !== null);
  const slotOf = (atMs: number): number => first + Math.round((atMs - beganAtMs) / SLOT_MS);
  return slots
    .slice(Math.max(0, slotOf(fromMs)), Math.max(0, slotOf(toMs)))
    .reduce<number>((sum, packets) => sum + (packets ?? 0), 0);
}

/** The most packets of any second that were sent of several floods, which were sent at once, together. */
export function peakTogether(reports: readonly FloodReport[]): number {
  return peakOf(reports.map(({ slots }) => slots));
}

function peakOf(floods: readonly (readonly (number | null | undefined)[])[]): number {
  const length = Math.max(0, ...floods.map((slots) => slots.length));
  const inSlot = (slot: number): number =>
    floods.reduce((sum, slots) => sum + (slots[slot] ?? 0), 0);
  let sum = 0;
  let peak = 0;
  for (let slot = 0; slot < length; slot++) {
    sum += inSlot(slot);
    if (slot >= SLOTS_PER_SECOND) sum -= inSlot(slot - SLOTS_PER_SECOND);
    peak = Math.max(peak, sum);
  }
  return peak;
}
