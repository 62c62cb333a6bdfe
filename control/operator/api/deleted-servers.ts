import { operatorActor, recordAudit } from '../../access/index.ts';
import type { Reader, Tx } from '../../db/database.ts';
import type { Batch } from '../../fleet/batch.ts';
import {
  type DeletedServer,
  endKeeping,
  forgetDeleted,
  loadDeleted,
  lockDeleted,
  resumeBuild,
} from '../../game-servers/index.ts';
import type { CallOf, Handlers } from '../../http/operations/handlers.ts';
import type { Answer } from '../../http/operations/operation.ts';
import { conflict, Problem } from '../../problem.ts';
import { operate, saveByHand } from '../by-hand.ts';
import type { EggLibrary } from '../kind.ts';
import { server } from '../kinds/game-server.ts';
import { answerOf } from './handlers.ts';

type Names = 'listDeletedServers' | 'restoreServer' | 'purgeServer';

const DAY_MS = 86_400_000;

/** The operations on servers that were deleted, and whose files are still on their nodes. */
export function createDeletedServerHandlers(library: EggLibrary): Pick<Handlers, Names> {
  return {
    listDeletedServers: async (_call, db) => ({ status: 200, body: { data: await list(db) } }),
    restoreServer: (call, tx) => operate(tx, (batch) => restore(call, batch, library)),
    purgeServer: (call, tx) =>
      operate(tx, async () => {
        const { uuid } = call.params;
        if ((await lockDeleted(tx, uuid)).length === 0) throw notDeleted(uuid);
        await endKeeping(tx, uuid);
        await recordAudit(tx, {
          actor: operatorActor(call),
          organisationId: null,
          action: 'server.purge',
          target: `server:${uuid}`,
          detail: {},
        });
        return { status: 200, body: { data: await list(tx) } };
      }),
  };
}

async function list(db: Reader | Tx) {
  const nowMs = Date.now();
  return (await loadDeleted(db)).map((one) => ({
    uuid: one.uuid,
    name: one.name,
    organisation: one.organisation,
    node: one.node,
    external_id: one.externalId,
    deleted_at: one.deletedAt.toISOString(),
    purge_at: one.purgeAt?.toISOString() ?? null,
    days_left: one.purgeAt && Math.max(0, Math.ceil((one.purgeAt.getTime() - nowMs) / DAY_MS)),
    moved: one.isElsewhere,
  }));
}

/** Declares a deleted server again as it was. Its node has not begun to purge it, and does not while this is decided. */
async function restore(
  call: CallOf<'restoreServer'>,
  batch: Batch,
  library: EggLibrary,
): Promise<Answer> {
  const { tx } = batch;
  const { uuid } = call.params;
  const deleted = newestOf(await lockDeleted(tx, uuid));
  if (deleted === null) throw notDeleted(uuid);
  if (deleted.isElsewhere) {
    throw conflict(`${deleted.name} lives on another node: what ${deleted.node} has is old.`);
  }
  if (deleted.isDue) {
    throw conflict(`The time of ${deleted.name} is over: ${deleted.node} purges its files.`);
  }
  const terms = { actor: operatorActor(call), library, action: 'restore' };
  const written = await saveByHand(batch, server, uuid, () => deleted.declared, terms);
  await forgetDeleted(tx, uuid);
  await resumeBuild(tx, deleted);
  const [current = written.current] = await server.load(tx, [uuid]);
  return answerOf(tx, server, { ...written, current, isNew: false });
}

/** A server that moved between nodes before it was deleted left files on several. */
function newestOf(deleted: readonly DeletedServer[]): DeletedServer | null {
  const [newest = null] = deleted.toSorted((a, b) => b.deletedAt.getTime() - a.deletedAt.getTime());
  return newest;
}

function notDeleted(uuid: string): Problem {
  return new Problem('not_found', `No node has files of a deleted server "${uuid}".`);
}
