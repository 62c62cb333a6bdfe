import type { Command } from 'commander';
import { withDatabaseOptions } from './keys.ts';

export interface CollectorsOptions {
  readonly data?: string;
  readonly json?: boolean;
}
export interface EnrolCollectorOptions extends CollectorsOptions {
  readonly save?: string;
}

export function addCollectors(program: Command): void {
  const collectors = program
    .command('collectors')
    .description('the collectors of flows: whom they hear, and what they miss')
    .addHelpText(
      'after',
      `
"portcullis up" runs the collectors of the fleet file by itself. One that runs elsewhere on this host is let in by a
credential of its own; with it, it can tell what it counts and nothing else.

  portcullis collectors list                     one line a collector, and every exporter of it
  portcullis collectors enrol flows --save FILE  a credential for: portcullis collector --link SOCKET --name flows
  portcullis collectors list --json | jq '.collectors[].report.exporters[] | select(.heard_ago_ms == null).ip'`,
    );
  withDatabaseOptions(
    collectors.command('list').description('every collector and its exporters'),
  ).action(async (options: CollectorsOptions) =>
    (await import('../commands/collectors.ts')).listCollectors(options),
  );
  withDatabaseOptions(
    collectors
      .command('enrol')
      .description('give a collector of the fleet a credential')
      .argument('<name>', 'as in the fleet file'),
  )
    .option(
      '--save <file>',
      'write it to this file, which only its owner may read, instead of printing it',
    )
    .action(async (name: string, options: EnrolCollectorOptions) =>
      (await import('../commands/collectors.ts')).enrolCollectorCommand(name, options),
    );
}
