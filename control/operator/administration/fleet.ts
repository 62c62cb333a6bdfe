import { loadCollectorStatuses } from '../../attacks/collectors/index.ts';
import type { Db } from '../../db/database.ts';
import { loadEdgeStatuses } from '../../fleet/index.ts';
import { loadNodeStatuses } from '../../game-servers/index.ts';
import type { Handlers } from '../../http/operations/handlers.ts';
import { collectorView, edgeView, nodeView } from './views.ts';

/** How edges, nodes and collectors are. */
export function createFleetHandlers(
  enforceCommand: string | null,
): Pick<Handlers, 'readFleetHealth' | 'readEnforceCommand'> {
  return {
    readFleetHealth: async (_call, db) => ({ status: 200, body: { data: await readFleet(db) } }),
    readEnforceCommand: async () => ({
      status: 200,
      body: { data: { command: enforceCommand } },
    }),
  };
}

async function readFleet(db: Db) {
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
