import type { DropEntry, DropSample } from '@portcullis/link/edge-report.ts';
import type { DropReading } from '../drop-ledger.ts';
import type { EarlyDropDriver } from './driver.ts';
import type { Reason } from './layout.ts';
import type { Sample } from './sample.ts';

const ETHERNET_BYTES = 14n;
const SLUGS: Readonly<Record<Reason, string>> = {
  rules: 'denied',
  baseline: 'baseline',
  geo: 'geo',
};

interface Totals {
  readonly packets: bigint;
  readonly bytes: bigint;
}

/** The driver's totals as what was added since they were read last. */
export class EarlyDropCounts {
  readonly #driver: EarlyDropDriver;
  readonly #deviceName: (ifindex: number) => string | null;
  #last = new Map<string, Totals>();
  #pending: DropEntry[] = [];

  constructor(driver: EarlyDropDriver, deviceName: (ifindex: number) => string | null) {
    this.#driver = driver;
    this.#deviceName = deviceName;
  }

  /** Takes in what a load, or the removal of these targets, is about to forget. */
  before(targets?: readonly string[]): void {
    this.#pending.push(...this.#entries(targets));
  }

  async read(): Promise<DropReading> {
    const entries = [...this.#pending, ...this.#entries()];
    this.#pending = [];
    const nowMs = Date.now();
    const now = process.hrtime.bigint();
    const samples = this.#driver.samples().map((sample) => this.#sampleOf(sample, nowMs, now));
    return { entries, samples };
  }

  #entries(targets?: readonly string[]): DropEntry[] {
    // Of some targets only: what is known of the others stays.
    const totals = new Map(targets === undefined ? [] : this.#last);
    const entries = this.#driver.counts(targets).flatMap(({ target, reason, packets, bytes }) => {
      const key = `${target} ${reason}`;
      totals.set(key, { packets, bytes });
      const last = this.#last.get(key);
      // Totals that shrank began anew with another load.
      const since =
        last !== undefined && last.packets <= packets ? last : { packets: 0n, bytes: 0n };
      const more = packets - since.packets;
      if (more === 0n) return [];
      return {
        target,
        stage: 'policy' as const,
        reason: SLUGS[reason],
        by: 'xdp' as const,
        packets: Number(more),
        bytes: Number(bytes - since.bytes - more * ETHERNET_BYTES),
      };
    });
    this.#last = totals;
    return entries;
  }

  #sampleOf(
    { at, ifindex, reason, packet, target }: Sample & { readonly target: string },
    nowMs: number,
    now: bigint,
  ): DropSample {
    return {
      atMs: nowMs - Number((now - at) / 1_000_000n),
      target,
      stage: 'policy',
      reason: SLUGS[reason],
      by: 'xdp',
      ...packet,
      device: this.#deviceName(ifindex),
    };
  }
}
