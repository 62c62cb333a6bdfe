import { type DropEntry, OBSERVED_REASON } from '@portcullis/core/firewall/drops.ts';
import type { DropReading } from '../../drops.ts';
import type { DropSource } from '../../drops.ts';
import type { Count, CounterReader } from './counter-reader.ts';
import { TABLE } from '../names.ts';
import type { Driver } from '../driver.ts';
import { COUNTED, type Counted, countedSet, uncountedChain } from '../table/drop-counters.ts';

type Cause = Pick<DropEntry, 'stage' | 'reason'>;

/** Sets that count all drops of a stage by address. */
const EXACT: readonly (Cause & { readonly set: string })[] = [
  { set: 'fragment_dropped4', stage: 'fragment-limits', reason: 'rate' },
  { set: 'fragment_dropped6', stage: 'fragment-limits', reason: 'rate' },
];
const CAUSES: Readonly<Record<Counted, Cause>> = {
  denied: { stage: 'policy', reason: 'denied' },
  blocked: { stage: 'policy', reason: 'blocked' },
  geo: { stage: 'policy', reason: 'geo' },
  mitigated: { stage: 'mitigations', reason: 'mitigated' },
  observed: { stage: 'mitigations', reason: OBSERVED_REASON },
};
const NOTHING: Count = { packets: 0, bytes: 0 };

/** Reports by address what rules and fragment limits dropped, and what observing mitigations would have dropped. */
export class NftablesDrops implements DropSource {
  readonly name = 'nftables';
  readonly #open: () => CounterReader;
  #reader: CounterReader | null = null;
  /** The previous counters, by set or chain. */
  readonly #last = new Map<string, ReadonlyMap<string, Count>>();
  /** Drops that were read and not yet reported. */
  #unreported: DropEntry[] = [];
  #turn: Promise<unknown> = Promise.resolve();

  constructor(open: () => CounterReader) {
    this.#open = open;
  }

  async read(): Promise<DropReading> {
    return this.#serially(async () => {
      const entries = [...this.#unreported, ...(await this.#entries())];
      this.#unreported = [];
      return { entries, samples: [] };
    });
  }

  /** Reads the counters that the coming rewrite resets. */
  async beforeRewrite(): Promise<void> {
    await this.#serially(async () => {
      this.#unreported.push(...(await this.#entries()));
    });
  }

  /** Called after a rewrite, which reset the rule counters; if the table was replaced, also those of the sets. */
  rewritten(isReplaced: boolean): void {
    if (isReplaced) this.#last.clear();
    else for (const reason of COUNTED) this.#last.delete(uncountedChain(reason));
  }

  /** Serialised: reads share a socket and the previous counters. */
  #serially<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #entries(): Promise<DropEntry[]> {
    this.#reader ??= this.#open();
    const entries: DropEntry[] = [];
    for (const { set, stage, reason } of EXACT) {
      entries.push(...entriesOf(await this.#sinceLast(set), { stage, reason }));
    }
    for (const reason of COUNTED) {
      entries.push(...entriesOf(await this.#counted(reason), CAUSES[reason]));
    }
    return entries;
  }

  close(): void {
    this.#reader?.close();
    this.#reader = null;
  }

  async #counted(reason: Counted): Promise<ReadonlyMap<string, Count>> {
    const chain = uncountedChain(reason);
    const uncounted = (await this.#reader?.chain(chain)) ?? null;
    const since = this.#since(chain, uncounted && new Map([[chain, uncounted]]));
    const beyond = since.get(chain) ?? NOTHING;
    const families = [
      await this.#sinceLast(countedSet(reason, 4)),
      await this.#sinceLast(countedSet(reason, 6)),
    ];
    const counted = new Map(families.flatMap((one) => [...one]));
    return shareOut(counted, beyond);
  }

  async #sinceLast(set: string): Promise<ReadonlyMap<string, Count>> {
    return this.#since(set, (await this.#reader?.elements(set)) ?? null);
  }

  /** An incomplete read adds nothing; the next one includes its drops. */
  #since(name: string, now: ReadonlyMap<string, Count> | null): ReadonlyMap<string, Count> {
    if (now === null) return new Map();
    const last = this.#last.get(name);
    this.#last.set(name, now);
    return difference(last ?? new Map<string, Count>(), now);
  }
}

/** A driver that reads the counters before each rewrite. A read error does not prevent the write. */
export function countedBeforeRewrite(driver: Driver, drops: NftablesDrops): Driver {
  return {
    ...driver,
    apply: async (text) => {
      const isReplaced = text.includes(`\ndelete table ${TABLE}\n`);
      if (!isReplaced && !text.includes(`\nflush table ${TABLE}\n`)) return driver.apply(text);
      await drops.beforeRewrite().catch(() => {});
      await driver.apply(text);
      drops.rewritten(isReplaced);
    },
  };
}

/** Pure: the increase of each counter. A counter below its previous value restarted from zero. */
export function difference(
  last: ReadonlyMap<string, Count>,
  now: ReadonlyMap<string, Count>,
): Map<string, Count> {
  const added = new Map<string, Count>();
  for (const [key, count] of now) {
    const before = last.get(key) ?? NOTHING;
    const { packets, bytes } = before.packets > count.packets ? NOTHING : before;
    if (count.packets > packets)
      added.set(key, { packets: count.packets - packets, bytes: count.bytes - bytes });
  }
  return added;
}

/**
 * Pure: distributes the packets that were not counted by address in proportion to those that were, which are a sample
 * of them. Without any sample their addresses are unknown, and they are not reported.
 */
export function shareOut(
  counted: ReadonlyMap<string, Count>,
  beyond: Count,
): ReadonlyMap<string, Count> {
  const sum = (of: keyof Count): number =>
    [...counted.values()].reduce((all, one) => all + one[of], 0);
  const [packets, bytes] = [sum('packets'), sum('bytes')];
  if (beyond.packets === 0 || packets === 0 || bytes === 0) return counted;
  const share = (mine: number, all: number, more: number): number =>
    mine + Math.round((mine / all) * more);
  return new Map(
    [...counted].map(([address, one]) => [
      address,
      {
        packets: share(one.packets, packets, beyond.packets),
        bytes: share(one.bytes, bytes, beyond.bytes),
      },
    ]),
  );
}

function entriesOf(counts: ReadonlyMap<string, Count>, cause: Cause): DropEntry[] {
  return [...counts].map(([target, count]) => ({ target, ...cause, by: 'nftables', ...count }));
}
