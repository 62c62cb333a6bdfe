import { type EdgeRules, judgePriority, judgeStatements } from './base-chain.ts';
import { TABLE } from '../names.ts';

const CHAIN = 'judge_again';

/**
 * A table that is written anew has its hooks in front of those that it replaces, and the kernel exchanges them in the
 * middle of packets: one that passed the new hook before, when it was empty yet, passes the old one after, when it is
 * empty already. So for as long as the exchange takes, the new table judges once more behind both.
 */
export function overlapWith(rules: EdgeRules): { begin: string; end: string } {
  const hook = `{ type filter hook prerouting priority ${judgePriority(rules) + 1}; policy accept; }`;
  const begin = [
    `add chain ${TABLE} ${CHAIN} ${hook}`,
    ...judgeStatements(rules).map((statement) => `add rule ${TABLE} ${CHAIN} ${statement}`),
  ];
  const end = [`flush chain ${TABLE} ${CHAIN}`, `delete chain ${TABLE} ${CHAIN}`];
  return { begin: `${begin.join('\n')}\n`, end: `${end.join('\n')}\n` };
}
