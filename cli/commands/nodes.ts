import { enrolNode } from '@portcullis/control/game-servers/index.ts';
import {
  loadNodeStatuses,
  type NodeStatus,
} from '@portcullis/control/game-servers/nodes/status.ts';
import { withDatabase } from '../database.ts';
import { failed } from '../exit.ts';
import { credentialFile, saveCredential } from '../node-credential.ts';
import { agoOf, print, printJson, printTable, styled, warn } from '../output.ts';
import type { EnrolOptions, NodesOptions } from '../program/nodes.ts';
import { operator } from '../up/first-start.ts';
import { dataDirectory } from './edge.ts';

/** `portcullis nodes list`. */
export async function listNodes(options: NodesOptions): Promise<void> {
  const nodes = await withDatabase(options, (db) => loadNodeStatuses(db));
  if (options.json === true) {
    printJson({ nodes: nodes.map(nodeView) });
    return;
  }
  if (nodes.length === 0) {
    print('No nodes: name them in the fleet file.');
    return;
  }
  await printTable(
    ['NAME', 'STATE', 'ENGINE', 'SERVERS', 'BUILT', 'HEARD'],
    nodes.map((node) => [
      node.name,
      stateOf(node),
      engineOf(node),
      String(node.servers),
      String(node.built),
      agoOf(node.lastSeenAt),
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

/** `portcullis nodes enrol NAME`. */
export async function enrolNodeCommand(name: string, options: EnrolOptions): Promise<void> {
  const credential = await withDatabase(options, (db) =>
    db.transaction().execute((tx) => enrolNode(tx, name, operator())),
  );
  if (credential === null) throw failed(`the fleet has no node ${name}: add it to the fleet file`);
  if (options.save === undefined) {
    if (options.json === true) printJson({ node: name, credential });
    else {
      print(credential);
      warn('This is the only time that it is shown. The one before, if any, works no more.');
    }
    return;
  }
  const file = options.save === true ? credentialFile(dataDirectory(options)) : options.save;
  saveCredential(file, credential);
  if (options.json === true) printJson({ node: name, file });
  else print(`The credential of ${name} is in ${file}. The one before, if any, works no more.`);
}

function stateOf({ enrolledAt, lastSeenAt, connected }: NodeStatus): string {
  if (connected) return 'connected';
  if (enrolledAt === null) return 'not enrolled';
  return lastSeenAt === null ? 'never heard of' : 'away';
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
