import type { DropEntry } from '@portcullis/core/firewall/drops.ts';
import type { DropReading } from '../drops.ts';
import type { Driver } from '../nftables/driver.ts';
import type { DropSource } from '../drops.ts';
import { type FilterCounter, readFilterCounters } from './counters.ts';

/** The drops of filters since the previous read, by address and reason. */
export class FilterDrops implements DropSource {
  readonly name = 'filters';
  readonly #driver: Driver;
  /** Null before the first read. */
  #last: ReadonlyMap<string, FilterCounter> | null = null;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  /** Starts the reporting. Drops counted before may have been reported by a previous agent. */
  async begin(): Promise<void> {
    if (this.#last === null) this.#last = await this.#counters();
  }

  async read(): Promise<DropReading> {
    const now = await this.#counters();
    const last = this.#last;
    this.#last = now;
    const entries = new Map<string, DropEntry>();
    for (const [key, counter] of last === null ? [] : now) {
      const { packets, bytes } = since(last?.get(key), counter);
      if (packets === 0) continue;
      const { target, reason } = counter;
      const name = `${target} ${reason}`;
      const sum = entries.get(name);
      entries.set(name, {
        stage: 'filters',
        reason,
        by: 'nftables',
        target,
        packets: (sum?.packets ?? 0) + packets,
        bytes: (sum?.bytes ?? 0) + bytes,
      });
    }
    return { entries: [...entries.values()], samples: [] };
  }

  async #counters(): Promise<ReadonlyMap<string, FilterCounter>> {
    const counters = (await this.#driver.present()) ? await readFilterCounters(this.#driver) : [];
    return new Map(
      counters.map((counter) => {
        const { target, protocol, port, reason } = counter;
        return [`${target} ${protocol} ${port} ${reason}`, counter];
      }),
    );
  }
}

/** A counter below its previous value restarted from zero. */
function since(
  before: FilterCounter | undefined,
  now: FilterCounter,
): { packets: number; bytes: number } {
  if (before === undefined || before.packets > now.packets) return now;
  return { packets: now.packets - before.packets, bytes: Math.max(0, now.bytes - before.bytes) };
}
