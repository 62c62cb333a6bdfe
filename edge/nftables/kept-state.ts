import type { Driver } from './driver.ts';
import { type FilterState, stateSet } from './filter-state.ts';
import { parseSet } from './kernel-set.ts';
import type { Layout } from './layout.ts';
import { TABLE } from './names.ts';

/** What players would notice the loss of, and what only the kernel knows. */
const KEPT: readonly FilterState[] = ['validated', 'reset_client', 'reset_server'];
/**
 * Those with the most time left: who plays renews it with every packet, and under a flood most others are forged.
 * More would hold the write up (100,000 take four seconds), and what is learnt meanwhile is lost.
 */
const MOST = 20_000;
const ELEMENTS_PER_COMMAND = 4096;

/**
 * Writing the table whole begins with an empty one. This puts back what the kernel has learnt, as text for the same
 * transaction; empty where there is no table or nothing to keep. What is learnt between is lost, and learnt again.
 */
export async function keptState(driver: Driver, { targets }: Layout): Promise<string> {
  const filtered = [...targets.values()].some(({ filters }) => filters.ports.size > 0);
  if (!filtered || !(await driver.present())) return '';
  const lines: string[] = [];
  for (const state of KEPT) {
    for (const family of [4, 6] as const) {
      const set = stateSet(state, family);
      lines.push(...restore(set, await listed(driver, set)));
    }
  }
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

/** Empty too where the table is of a version that had no such set. */
async function listed(driver: Driver, set: string): Promise<string> {
  try {
    return await driver.list(set);
  } catch {
    return '{"nftables":[]}';
  }
}

function restore(set: string, json: string): string[] {
  const elements = parseSet(json)
    .filter(({ expires }) => expires !== null && expires > 0)
    .toSorted((a, b) => (b.expires ?? 0) - (a.expires ?? 0))
    .slice(0, MOST)
    .map(({ fields, expires }) => `${fields.join(' . ')} timeout ${expires}s`);
  const commands: string[] = [];
  for (let at = 0; at < elements.length; at += ELEMENTS_PER_COMMAND) {
    const some = elements.slice(at, at + ELEMENTS_PER_COMMAND).join(', ');
    commands.push(`add element ${TABLE} ${set} { ${some} }`);
  }
  return commands;
}
