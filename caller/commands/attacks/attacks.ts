import type { Command } from 'commander';
import { addAccept } from './accept.ts';
import { addCancel } from './cancel.ts';
import { addList } from './list.ts';
import { addShow } from './show.ts';
import { addWatch } from './watch.ts';

export function addAttacks(program: Command): void {
  const attacks = program.command('attacks').description('attacks and their mitigations');
  addList(attacks);
  addShow(attacks);
  addWatch(attacks);
  addCancel(attacks);
  addAccept(attacks);
}
