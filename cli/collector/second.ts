import type { Sample } from '@portcullis/core/attacks/sample.ts';

export interface Destination {
  readonly ip: string;
  readonly pps: number;
  readonly bps: number;
}

/** Adds up samples until it is asked who got the most. */
export class Second {
  #totals = new Map<string, { packets: number; bytes: number }>();
  #durationMs = 0;

  add({ addresses, durationMs }: Sample): void {
    this.#durationMs += durationMs;
    for (const { subject, packets, bytes } of addresses) {
      const total = this.#totals.get(subject);
      if (total === undefined) this.#totals.set(subject, { packets, bytes });
      else {
        total.packets += packets;
        total.bytes += bytes;
      }
    }
  }

  get isOver(): boolean {
    return this.#durationMs >= 990;
  }

  /** Rates over the time since it was last asked; begins anew. */
  take(count: number): { readonly destinations: number; readonly top: Destination[] } {
    const seconds = this.#durationMs / 1000;
    const totals = [...this.#totals];
    this.#totals = new Map();
    this.#durationMs = 0;
    const top = totals
      .toSorted(([, a], [, b]) => b.packets - a.packets)
      .slice(0, count)
      .map(([ip, { packets, bytes }]) => ({
        ip,
        pps: Math.round(packets / seconds),
        bps: Math.round((bytes * 8) / seconds),
      }));
    return { destinations: totals.length, top };
  }
}
