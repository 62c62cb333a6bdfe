import type { DropEntry } from '@portcullis/link/edge-report.ts';
import type { DropReading } from '../drop-ledger.ts';
import type { Driver } from '../nftables/driver.ts';
import type { DropSource } from '../report.ts';
import { type FilterCounter, readFilterCounters } from './counters.ts';

/** What filters dropped since they were last read, by address and reason. */
export class FilterDrops implements DropSource {
  readonly name = 'filters';
  readonly #driver: Driver;
  /** Null before: what is there then, an agent before this one may have told. */
  #last: ReadonlyMap<string, FilterCounter> | null = null;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  /** This agent has written the table, with counters of its own in it: from now on they are told whole. */
  begin(): void {
    this.#last ??= new Map();
  }

  async read(): Promise<DropReading> {
    if (!(await this.#driver.present())) return { entries: [], samples: [] };
    const now = new Map<string, FilterCounter>();
    for (const counter of await readFilterCounters(this.#driver)) {
      const { target, protocol, port, reason } = counter;
      now.set(`${target} ${protocol} ${port} ${reason}`, counter);
    }
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
}

/** A counter that is lower than it was has begun again. */
function since(
  before: FilterCounter | undefined,
  now: FilterCounter,
): { packets: number; bytes: number } {
  if (before === undefined || before.packets > now.packets) return now;
  return { packets: now.packets - before.packets, bytes: Math.max(0, now.bytes - before.bytes) };
}
