import type { Command } from 'commander';
import { withDatabaseOptions } from './keys.ts';

export interface EdgesOptions {
  readonly data?: string;
  readonly json?: boolean;
}

export function addEdges(program: Command): void {
  const edges = program
    .command('edges')
    .description('the edges of the fleet: how far each is, and what it says of itself')
    .addHelpText(
      'after',
      `
  portcullis edges list              one line an edge
  portcullis edges show fra1         its devices, refused addresses, counts and problems
  portcullis edges list --json | jq '.edges[] | select(.lag_generations > 0).name'

show is exit code 1 where there is no such edge.`,
    );
  withDatabaseOptions(edges.command('list').description('every edge, one line each')).action(
    async (options: EdgesOptions) => (await import('../commands/edges.ts')).listEdges(options),
  );
  withDatabaseOptions(
    edges.command('show').description('all about one edge').argument('<name>', 'as in the fleet'),
  ).action(async (name: string, options: EdgesOptions) =>
    (await import('../commands/edges.ts')).showEdge(name, options),
  );
}
