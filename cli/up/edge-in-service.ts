import { setTimeout as delay } from 'node:timers/promises';
import { loadEdgeStatuses } from '@portcullis/control/fleet/edges/status.ts';
import { withUrl } from '../database.ts';

/** For a large fleet on a loaded machine; an edge that reports an error ends the wait. */
const TIMEOUT_MS = 30_000;
const POLL_MS = 200;

/** Why an edge that was started to enforce does not, and in which mode it is. */
export interface NotInService {
  readonly mode: 'enforce' | 'no_device';
  readonly reason: string;
}

/** Waits for an edge that is started now; made before, so that what an earlier one had reported does not count. */
export interface EdgeWait {
  /**
   * Resolves with null once control has the confirmation that the kernel enforces, else with the reason: that an edge was
   * started to enforce does not mean that it does.
   */
  whyNotInService(signal: AbortSignal): Promise<NotInService | null>;
}

export async function expectEdge(databaseUrl: string, name: string): Promise<EdgeWait> {
  const [before] = await withUrl(databaseUrl, (db) => loadEdgeStatuses(db, name));
  const seenBefore = before?.lastSeenAt?.getTime();
  const reportBefore = JSON.stringify(before?.report);
  return {
    whyNotInService: (signal) =>
      withUrl(databaseUrl, async (db) => {
        const enforces = (reason: string): NotInService => ({ mode: 'enforce', reason });
        const deadline = performance.now() + TIMEOUT_MS;
        while (!signal.aborted && performance.now() < deadline) {
          const [edge] = await loadEdgeStatuses(db, name);
          const isSeen = edge?.lastSeenAt?.getTime() !== seenBefore;
          if (isSeen && edge?.inService === true && edge.mode === 'enforce') return null;
          if (isSeen && edge?.mode === 'no_device') {
            return { mode: 'no_device', reason: edge.modeReason ?? 'it has no device' };
          }
          const error = edge?.report?.lastError ?? null;
          if (error !== null && JSON.stringify(edge?.report) !== reportBefore) {
            return enforces(error);
          }
          await delay(POLL_MS);
        }
        return enforces('the edge has not confirmed it yet');
      }),
  };
}
