import type { NodeStatus } from '@portcullis/control/game-servers/nodes/status.ts';
import type { Command } from 'commander';
import { addEnrolment } from '../agents/enrolment.ts';
import { withDatabase } from '../database.ts';
import { addNodeFolders } from './node-folders.ts';
import { type DatabaseOptions, withDatabaseOptions } from '../options.ts';
import {
  formatAgo,
  formatConnection,
  print,
  printJson,
  printTable,
  styled,
} from '@portcullis/caller/output.ts';

export function addNodes(program: Command): void {
  const nodes = program
    .command('nodes')
    .description('the hosts that run game servers')
    .addHelpText(
      'after',
      `
A node authenticates with its own credential, which gives access to its own servers only.

  portcullis nodes list                        one line per node, and the builds that failed
  portcullis nodes enrol node-1                a new credential, shown only once; the previous one stops working
  portcullis nodes enrol node-1 --save         for a node on this host: saved where "portcullis node" reads it
  portcullis nodes enrol node-1 --remote --save node-1.json    for another host, by NATS
  portcullis nodes revoke node-1               its credential stops working at once
  sudo portcullis nodes folders                what removed servers left on this host
  sudo portcullis nodes purge UUID --yes       deletes such a folder for good
  portcullis nodes list --json | jq '.data[] | select(.connected | not).name'`,
    );
  withDatabaseOptions(nodes.command('list').description('every node, one line each')).action(
    listNodes,
  );
  addEnrolment(nodes, 'node');
  addNodeFolders(nodes);
}

async function listNodes(options: DatabaseOptions): Promise<void> {
  const { loadNodeStatuses } = await import('@portcullis/control/game-servers/nodes/status.ts');
  const nodes = await withDatabase(options, (db) => loadNodeStatuses(db));
  if (options.json === true) {
    printJson(nodes.map(nodeView));
    return;
  }
  if (nodes.length === 0) {
    print('No nodes: name them in the fleet file.');
    return;
  }
  await printTable(
    ['NAME', 'STATE', 'ENGINE', 'SERVERS', 'BUILT', 'LAST SEEN'],
    nodes.map((node) => [
      node.name,
      formatConnection(node),
      engineOf(node),
      String(node.servers),
      String(node.built),
      formatAgo(node.lastSeenAt),
    ]),
  );
  for (const { name, engine, failed: builds } of nodes) {
    if (engine?.problem) print(styled('yellow', `${name}: ${engine.problem}`));
    for (const { uuid, name: server, reason } of builds) {
      print(
        styled(
          'red',
          `${name}: ${server} (${uuid}) could not be built: ${reason ?? 'no reason was given'}`,
        ),
      );
    }
  }
}

function engineOf({ engine }: NodeStatus): string {
  if (engine === null) return '-';
  return `${engine.kind} ${engine.version ?? '(does not answer)'}`;
}

function nodeView(node: NodeStatus): object {
  return {
    name: node.name,
    enrolled_at: node.enrolledAt?.toISOString() ?? null,
    last_seen_at: node.lastSeenAt?.toISOString() ?? null,
    connected: node.connected,
    engine: node.engine,
    servers: node.servers,
    built: node.built,
    failed: node.failed,
  };
}
