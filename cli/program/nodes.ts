import type { Command } from 'commander';
import { withDatabaseOptions } from './keys.ts';

export interface NodesOptions {
  readonly data?: string;
  readonly json?: boolean;
}
export interface EnrolOptions extends NodesOptions {
  readonly save?: string | true;
}

export function addNodes(program: Command): void {
  const nodes = program
    .command('nodes')
    .description('the hosts that run game servers')
    .addHelpText(
      'after',
      `
A node is let in by a credential of its own; with it, it sees and touches its own servers only.

  portcullis nodes list                        one line a node, and which builds failed
  portcullis nodes enrol node-1                a credential, shown once; the one before stops working
  portcullis nodes enrol node-1 --save         for a node on this host: kept where "portcullis node" looks for it
  portcullis nodes list --json | jq '.nodes[] | select(.connected | not).name'`,
    );
  withDatabaseOptions(nodes.command('list').description('every node, one line each')).action(
    async (options: NodesOptions) => (await import('../commands/nodes.ts')).listNodes(options),
  );
  withDatabaseOptions(
    nodes
      .command('enrol')
      .description('give a node of the fleet a credential')
      .argument('<name>', 'as in the fleet file'),
  )
    .option(
      '--save [file]',
      'write it to this file, which only its owner may read, instead of printing it',
    )
    .action(async (name: string, options: EnrolOptions) =>
      (await import('../commands/nodes.ts')).enrolNodeCommand(name, options),
    );
}
