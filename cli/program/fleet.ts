import type { Command } from 'commander';
import { withDatabaseOptions } from './keys.ts';

export interface FleetOptions {
  readonly data?: string;
  readonly json?: boolean;
  readonly force?: boolean;
}

export function addFleet(program: Command): void {
  const fleet = program
    .command('fleet')
    .description('organisations, holdings, groups, edges, nodes and game servers from one file')
    .addHelpText(
      'after',
      `
  portcullis fleet plan fleet.yaml      what applying would change; changes nothing
  portcullis fleet apply fleet.yaml     do it, in one transaction
  portcullis fleet schema               the JSON Schema of the file, for editors`,
    );
  withDatabaseOptions(
    fleet.command('plan').description('show what applying would change').argument('<file>'),
  ).action(async (file: string, options: FleetOptions) =>
    (await import('../commands/fleet.ts')).planFleet(file, options),
  );
  withDatabaseOptions(fleet.command('apply').description('apply the file').argument('<file>'))
    .option(
      '--force',
      'also where live objects lose the holding they belong to, or servers their files',
    )
    .action(async (file: string, options: FleetOptions) =>
      (await import('../commands/fleet.ts')).applyFleet(file, options),
    );
  fleet
    .command('schema')
    .description('print the JSON Schema of the file')
    .action(async () => (await import('../commands/fleet.ts')).printFleetSchema());
}
