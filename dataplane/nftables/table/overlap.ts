import { type EdgeRules, judgePriority, judgeStatements } from './base-chain.ts';
import { TABLE } from '../names.ts';

const CHAIN = 'judge_again';

export interface Overlap {
  /** In front of all else of the new table: a packet that is on its way already meets only the hooks of before. */
  readonly hook: string;
  /** Behind all that they look into. */
  readonly begin: string;
  readonly end: string;
}

/**
 * A table that is written anew has its hooks in front of those that it replaces, and the kernel exchanges them in the
 * middle of packets: one that passed the new hook before, when it was empty yet, passes the old one after, when it is
 * empty already. So for as long as the exchange takes, the new table judges once more behind both.
 */
export function overlapWith(rules: EdgeRules): Overlap {
  const hook = `{ type filter hook prerouting priority ${judgePriority(rules) + 1}; policy accept; }`;
  const begin = judgeStatements(rules).map((one) => `add rule ${TABLE} ${CHAIN} ${one}`);
  const end = [`flush chain ${TABLE} ${CHAIN}`, `delete chain ${TABLE} ${CHAIN}`];
  return {
    hook: `add chain ${TABLE} ${CHAIN} ${hook}`,
    begin: begin.map((line) => `${line}\n`).join(''),
    end: `${end.join('\n')}\n`,
  };
}
