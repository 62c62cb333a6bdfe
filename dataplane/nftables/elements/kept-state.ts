import type { Family } from '@portcullis/core/net/address.ts';
import type { Driver } from '../driver.ts';
import { type FilterState, stateSet } from '../filters/state.ts';
import { parseSet } from './kernel-set.ts';
import type { Layout } from '../table/layout.ts';
import { TABLE } from '../names.ts';

/** What players would notice the loss of, and what only the kernel knows. */
const OF_FILTERS: readonly FilterState[] = ['validated', 'reset_client', 'reset_server'];
/** Without it denied connections would pass as replies. */
export const DENIED: readonly FilterState[] = ['denied_flows', 'denied_pairs'];
/**
 * Of each set, in the transaction of the table itself: those with the most time left, because who plays renews it with
 * every packet, and under a flood most others are forged. More would hold the write up (100,000 take four seconds),
 * and what is learnt meanwhile is lost; the rest follows in transactions of its own, see `LearntLater`.
 */
const AT_ONCE = 20_000;
const ELEMENTS_PER_COMMAND = 4096;

/** An element that the kernel had, and has no more. */
export interface Learnt {
  readonly set: string;
  readonly family: Family;
  readonly fields: readonly string[];
  /** By `performance.now`. */
  readonly expiresAtMs: number;
}

export interface KeptState {
  /** For the transaction that writes the table; empty where there is nothing to keep. */
  readonly text: string;
  /** What there is beyond that, in no order. */
  readonly rest: readonly Learnt[];
}

/**
 * Writing the table whole begins with an empty one. This is what puts back what the kernel has learnt. What is learnt
 * between is lost, and learnt again. A table that is gone has taken everything with it but what is `remembered`.
 */
export async function keptState(
  driver: Driver,
  { targets, rules }: Layout,
  { remembered = [], atOnce = AT_ONCE }: Partial<KeepOptions> = {},
): Promise<KeptState> {
  const kept = [
    ...(rules.sees === 'both' ? DENIED : []),
    ...(hasFilters(targets) ? OF_FILTERS : []),
  ];
  const there = await driver.present();
  const [first, rest]: [Learnt[], Learnt[]] = [[], []];
  for (const state of kept) {
    for (const family of [4, 6] as const) {
      const set = stateSet(state, family);
      const known = there
        ? await learnt(driver, set, family)
        : remembered.filter((one) => one.set === set);
      for (const [index, element] of newestFirst(known).entries()) {
        (index < atOnce ? first : rest).push(element);
      }
    }
  }
  return { text: putBack(first), rest };
}

interface KeepOptions {
  readonly remembered: readonly Learnt[];
  readonly atOnce: number;
}

/** Whether filters have anything to learn. */
export function hasFilters(targets: Layout['targets']): boolean {
  for (const { filters } of targets.values()) if (filters.ports.size > 0) return true;
  return false;
}

export function newestFirst(elements: readonly Learnt[]): Learnt[] {
  return elements.toSorted((a, b) => b.expiresAtMs - a.expiresAtMs);
}

/** As commands of nft, with the time that is left to each; without those whose time is up. */
export function putBack(elements: readonly Learnt[]): string {
  const nowMs = performance.now();
  const bySet = new Map<string, string[]>();
  for (const { set, fields, expiresAtMs } of elements) {
    const seconds = Math.ceil((expiresAtMs - nowMs) / 1000);
    if (seconds <= 0) continue;
    const texts = bySet.get(set) ?? [];
    texts.push(`${fields.join(' . ')} timeout ${seconds}s`);
    bySet.set(set, texts);
  }
  let text = '';
  for (const [set, texts] of bySet) {
    for (let at = 0; at < texts.length; at += ELEMENTS_PER_COMMAND) {
      const some = texts.slice(at, at + ELEMENTS_PER_COMMAND).join(', ');
      text += `add element ${TABLE} ${set} { ${some} }\n`;
    }
  }
  return text;
}

async function learnt(driver: Driver, set: string, family: Family): Promise<Learnt[]> {
  const elements = parseSet(await listed(driver, set));
  const nowMs = performance.now();
  return elements.flatMap(({ fields, expires }) =>
    expires === null || expires <= 0
      ? []
      : [{ set, family, fields, expiresAtMs: nowMs + expires * 1000 }],
  );
}

/** Empty too where the table is of a version that had no such set. */
async function listed(driver: Driver, set: string): Promise<string> {
  try {
    return await driver.list(set);
  } catch {
    return '{"nftables":[]}';
  }
}
