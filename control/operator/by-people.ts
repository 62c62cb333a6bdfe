import type { ServerObject } from '@portcullis/contract/schemas/declared/game-server.ts';
import { sql } from 'kysely';
import type { Actor } from '../access/index.ts';
import type { Tx } from '../db/database.ts';
import { lockInstallation } from '../db/locks.ts';
import { Batch } from '../fleet/batch.ts';
import { Problem } from '../problem.ts';
import { saveByHand } from './by-hand.ts';
import type { EggLibrary } from './kind.ts';
import { server } from './kinds/game-server.ts';
import { changedSettings, isStated } from './people-settings.ts';
import type { StoredServer } from './kinds/server-table.ts';

export interface ServerChange {
  readonly actor: Actor;
  readonly library: EggLibrary;
  /** The server from what there is. Throws what refuses the change. */
  readonly make: (before: StoredServer) => Promise<ServerObject>;
}

export interface ChangedServer {
  readonly current: StoredServer;
  /** Settings that changed, as JSON pointers. */
  readonly changed: readonly string[];
}

/**
 * Changes settings of a server for its people, by whichever side it is declared: what the fleet file states is refused, and what it leaves
 * open is remembered as theirs, so that the next apply keeps it. Null if there is no such server.
 */
export async function changeForPeople(
  tx: Tx,
  uuid: string,
  { actor, library, make }: ServerChange,
): Promise<ChangedServer | null> {
  await lockInstallation(tx);
  const [before] = await server.load(tx, [uuid]);
  if (before === undefined) return null;
  const object = await make(before);
  const changed = changedSettings(before.object, object);
  if (changed.length === 0) return { current: before, changed };
  refuseStated(before, changed);
  const batch = new Batch(tx, before.owner);
  const terms = { actor, library, action: 'settings' };
  const { current } = await saveByHand(batch, server, uuid, () => object, terms);
  const own = new Set([...before.facts.setByPeople, ...changed]);
  const kept = [...own].filter((pointer) => isStated(object, pointer)).toSorted();
  await sql`
    update game_servers set set_by_people = ${kept}::text[] where uuid = ${uuid}`.execute(tx);
  return {
    current: { ...before, object: current.object, facts: { ...before.facts, setByPeople: kept } },
    changed,
  };
}

/** Whether the fleet file states a setting: only there it can be changed. */
export function isOfFile({ owner, object, facts }: StoredServer, pointer: string): boolean {
  if (owner !== 'fleet' || facts.setByPeople.includes(pointer)) return false;
  return isStated(object, pointer);
}

function refuseStated(before: StoredServer, changed: readonly string[]): void {
  const stated = changed.filter((pointer) => isOfFile(before, pointer));
  if (stated.length === 0) return;
  const names = stated.map((pointer) => pointer.slice(1).replace('/', ' ')).join(', ');
  const detail = `The fleet file of the operator states ${names}, so it is changed there. Nothing was changed.`;
  const errors = stated.map((pointer) => ({ pointer, detail: 'is stated by the fleet file' }));
  throw new Problem('managed_by_fleet_file', detail, { errors });
}
