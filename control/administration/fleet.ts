import { sql } from 'kysely';
import { operatorActor, recordAudit } from '../access/index.ts';
import { deleteCollector, loadCollectorStatuses } from '../collectors/index.ts';
import type { Db, Tx } from '../db/database.ts';
import { lockClause, noteLock } from '../db/locks.ts';
import type { Owner } from '../db/schema.ts';
import type { Batch } from '../fleet/batch.ts';
import { loadEdgeStatuses } from '../fleet/index.ts';
import { deleteNode, loadNodeStatuses } from '../game-servers/index.ts';
import type { CallOf, Handlers } from '../http/operations/handlers.ts';
import type { Answer } from '../http/operations/operation.ts';
import { conflict, Problem } from '../problem.ts';
import { operate } from '../operator/index.ts';
import { collectorView, edgeView, nodeView } from './views.ts';

/** Edges, nodes and collectors. */
export function createFleetHandlers(
  enforceCommand: string | null,
): Pick<Handlers, 'readFleetHealth' | 'removeAgent' | 'readEnforceCommand'> {
  return {
    readFleetHealth: async (_call, db) => ({ status: 200, body: { data: await readFleet(db) } }),
    readEnforceCommand: async () => ({
      status: 200,
      body: { data: { command: enforceCommand } },
    }),
    removeAgent: (call, tx) => operate(tx, (batch) => removeAgent(call, batch)),
  };
}

export async function readFleet(db: Db | Tx) {
  const [edges, nodes, collectors] = [
    await loadEdgeStatuses(db),
    await loadNodeStatuses(db),
    await loadCollectorStatuses(db),
  ];
  return {
    edges: edges.map(edgeView),
    nodes: nodes.map(nodeView),
    collectors: collectors.map(collectorView),
  };
}

async function removeAgent(call: CallOf<'removeAgent'>, batch: Batch): Promise<Answer> {
  const { tx } = batch;
  const { kind, name } = call.params;
  const agent = await findAgent(tx, kind, name);
  if (agent === null) {
    throw new Problem('not_found', `There is no such agent: ${kind}/${name}`.slice(0, 200));
  }
  batch.requireOwn(agent.owner, `The ${agent.kind} ${name}`);
  if (agent.hindrance !== null) throw conflict(agent.hindrance);
  await agent.remove(batch);
  const generation = await batch.takeGeneration('agent.remove');
  await recordAudit(tx, {
    actor: operatorActor(call),
    organisationId: null,
    action: `${agent.kind}.remove`,
    target: `${agent.kind}:${name}`,
    generation,
  });
  return { status: 200, body: { data: { done: true } } };
}

interface Agent {
  readonly kind: 'node' | 'collector';
  readonly owner: Owner;
  /** Why it cannot be removed; null if it can. */
  readonly hindrance: string | null;
  remove(batch: Batch): Promise<void>;
}

/** Locked, so that an edge does not join meanwhile. `kind`: `nodes` or `collectors`. */
export async function findAgent(tx: Tx, kind: string, name: string): Promise<Agent | null> {
  const isIt = (one: { readonly name: string }): boolean => one.name === name;
  if (kind === 'nodes') {
    noteLock(tx, 'nodes');
    await sql`select from nodes where name = ${name} ${lockClause('update')}`.execute(tx);
    const node = (await loadNodeStatuses(tx)).find(isIt);
    if (node === undefined) return null;
    return {
      kind: 'node',
      owner: node.owner,
      hindrance: node.servers > 0 ? `The node ${name} has game servers: move them first.` : null,
      remove: ({ tx: within }) => deleteNode(within, node.id),
    };
  }
  if (kind !== 'collectors') return null;
  const collector = (await loadCollectorStatuses(tx)).find(isIt);
  if (collector === undefined) return null;
  const { id, owner } = collector;
  return {
    kind: 'collector',
    owner,
    hindrance: null,
    remove: ({ tx: at }) => deleteCollector(at, id),
  };
}
