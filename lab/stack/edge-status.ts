import { openDatabase } from '@portcullis/control/db/database.ts';
import { findEmbeddedPostgres } from '@portcullis/control/db/embedded/index.ts';
import { type EdgeStatus, loadEdgeStatuses } from '@portcullis/control/fleet/edges/status.ts';
import type { Stack } from './stack.ts';

/**
 * The status of the edge of a stack. Tests look again and again, and a process for each look would
 * take most of their time.
 */
export async function edgeStatus({ dataDir }: Stack): Promise<EdgeStatus> {
  const url = findEmbeddedPostgres(dataDir);
  if (url === null) throw new Error('the database does not run');
  const db = openDatabase({ url, poolSize: 1, applicationName: 'lab' });
  try {
    const [edge] = await loadEdgeStatuses(db);
    if (edge === undefined) throw new Error('the fleet has no edge');
    return edge;
  } finally {
    await db.destroy();
  }
}
