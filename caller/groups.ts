import { addAttacks } from './commands/attacks/attacks.ts';
import { addDrops } from './commands/drops.ts';
import { addEggs } from './commands/eggs/eggs.ts';
import { addExplain } from './commands/explain.ts';
import { addFirewall } from './commands/firewall/firewall.ts';
import { addLogin } from './commands/login.ts';
import { addOperator } from './commands/operator.ts';
import { addServers } from './commands/servers/servers.ts';
import type { AddCommand } from './program.ts';

/** Commands that need a key and a URL alone. */
export const CALLER_COMMANDS: readonly AddCommand[] = [
  addLogin,
  addFirewall,
  addExplain,
  addDrops,
  addAttacks,
  addServers,
  addEggs,
  addOperator,
];
