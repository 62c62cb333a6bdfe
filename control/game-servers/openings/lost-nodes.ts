import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';
import type { GameServerEvents } from '../events.ts';
import { findUnsettled, lockNodes, settle, settleNode } from './settle.ts';

/** Longer than a restart of a node or of its link, short enough that a dead host keeps no port open for long. */
export const LOST_AFTER_MS = 120_000;
const CHECK_MS = 10_000;

export interface LostNodesDeps {
  readonly db: Db;
  readonly events: Pick<GameServerEvents, 'nodeLost' | 'portsChanged' | 'failed'>;
  readonly lostAfterMs?: number;
}

/**
 * Closes the ports of servers whose node was not heard for long, and follows holdings that begin and end. Like the check
 * of leases of edges it waits after a start, or after the database was away: every node has the whole time to return.
 */
export class LostNodes {
  readonly #deps: LostNodesDeps;
  readonly #lostAfterMs: number;
  #reachableSinceMs: number | null = null;

  constructor(deps: LostNodesDeps) {
    this.#deps = deps;
    this.#lostAfterMs = deps.lostAfterMs ?? LOST_AFTER_MS;
  }

  /** Checks at a time of a monotonic clock. Never rejects. */
  async check(nowMs: number): Promise<void> {
    const { db, events } = this.#deps;
    try {
      const unseen = await this.#findUnseen();
      this.#reachableSinceMs ??= nowMs;
      if (nowMs - this.#reachableSinceMs >= this.#lostAfterMs) {
        for (const node of unseen) await this.#lose(node);
      }
      const servers = await findUnsettled(db);
      if (servers.length === 0) return;
      const changed = await db.transaction().execute(async (tx) => {
        await lockNodes(tx, servers);
        return settle(tx, 'control', servers);
      });
      events.portsChanged('control', changed);
    } catch (error) {
      this.#reachableSinceMs = null;
      events.failed('closing ports of servers', error);
    }
  }

  async #findUnseen(): Promise<readonly Node[]> {
    const { rows } = await sql<Node>`select id, name from nodes where ${this.#unseen()}`.execute(
      this.#deps.db,
    );
    return rows;
  }

  async #lose(node: Node): Promise<void> {
    const { db, events } = this.#deps;
    const changed = await db.transaction().execute(async (tx) => {
      const { rows } = await sql`
        update nodes set lost_at = clock_timestamp() where id = ${node.id} and ${this.#unseen()}
        returning id`.execute(tx);
      return rows.length === 0 ? null : settleNode(tx, node);
    });
    if (changed === null) return;
    events.nodeLost(node.name);
    events.portsChanged(node.name, changed);
  }

  #unseen() {
    return sql`lost_at is null and last_seen_at < clock_timestamp() - ${this.#lostAfterMs} * interval '1 millisecond'`;
  }
}

interface Node {
  readonly id: number;
  readonly name: string;
}

/** Starts the timer. Returns a function that stops it and waits for it. */
export function startLostNodes(deps: LostNodesDeps): () => Promise<void> {
  const lost = new LostNodes(deps);
  let running: Promise<void> | null = null;
  const timer = setInterval(() => {
    running ??= lost.check(performance.now()).finally(() => {
      running = null;
    });
  }, CHECK_MS);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await running;
  };
}
