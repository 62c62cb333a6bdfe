import type { Command } from 'commander';
import { print } from '../../output.ts';
import schema from '../../file/rules-file.schema.json' with { type: 'json' };
import { addBlocked } from './blocked.ts';
import { addChanges } from './change.ts';
import { addDryRun } from './dry-run.ts';
import { addExport } from './export.ts';
import { addFileCommands } from './file.ts';
import { addFilters } from './filters.ts';
import { addLockdown } from './lockdown.ts';
import { addShow } from './show.ts';
import { addTest } from './test.ts';

export function addFirewall(program: Command): void {
  const firewall = program
    .command('firewall')
    .description('rules, filters and blocked sources of the addresses that you hold')
    .addHelpText(
      'after',
      `
  portcullis firewall show 203.0.113.10
  portcullis firewall open 203.0.113.10 tcp 25565
  portcullis firewall allow 203.0.113.10 tcp 22 --me --for 30m
  portcullis firewall block 192.0.2.7 --note scans
  portcullis firewall plan -f rules.yaml
  portcullis firewall apply -f rules.yaml --wait`,
    );
  addShow(firewall);
  addChanges(firewall);
  addFilters(firewall);
  addLockdown(firewall);
  addBlocked(firewall);
  addFileCommands(firewall);
  addExport(firewall);
  addTest(firewall);
  addDryRun(firewall);
  firewall
    .command('schema')
    .description('the JSON Schema of the files of `plan` and `apply`, for editors')
    .action(() => print(JSON.stringify(schema, null, 2)));
}
