import { randomUUID } from 'node:crypto';
import { BESIDE_SERVER } from '@portcullis/contract/schemas/declared/game-server.ts';
import { withOwnStart } from '@portcullis/core/game-servers/eggs/own-start.ts';
import { sql } from 'kysely';
import { operatorActor } from '../../access/index.ts';
import type { Tx } from '../../db/database.ts';
import type { Batch } from '../../fleet/batch.ts';
import { reinstallServer } from '../../game-servers/index.ts';
import type { CallOf, Handlers } from '../../http/operations/handlers.ts';
import type { Answer } from '../../http/operations/operation.ts';
import { conflict } from '../../problem.ts';
import { noSuch, operate, outsideOf, readWhole, saveByHand } from '../by-hand.ts';
import type { EggLibrary } from '../kind.ts';
import { besideServer, noEgg, server } from '../kinds/game-server.ts';
import type { StoredServer } from '../kinds/server-table.ts';
import { placeServer } from '../places.ts';
import { differenceOf } from '../plan.ts';
import { answerOf, partition, patched } from './handlers.ts';

type Names = 'createServer' | 'suspendServer' | 'unsuspendServer' | 'reinstallServer';

/** The operations of game servers beside those that every kind has. */
export function createServerHandlers(library: EggLibrary): Pick<Handlers, Names> {
  return {
    createServer: (call, tx) => operate(tx, (batch) => create(call, batch, library)),
    suspendServer: (call, tx) => suspend(call, tx, library, true),
    unsuspendServer: (call, tx) => suspend(call, tx, library, false),
    reinstallServer: (call, tx) =>
      operate(tx, async (batch) => {
        const found = await requireServer(call, tx);
        batch.requireOwn(found.owner, `The server ${found.object.name}`);
        // Audited by itself, as for an organisation.
        await reinstallServer(tx, found.object.uuid, operatorActor(call), call.query.files);
        const current = await requireServer(call, tx);
        return answerOf(tx, server, { current, isNew: false, generation: null, secret: null });
      }),
  };
}

async function requireServer(
  { params: { uuid } }: Pick<CallOf<'suspendServer'>, 'params'>,
  tx: Tx,
): Promise<StoredServer> {
  const [found] = await server.load(tx, [uuid]);
  if (found === undefined) throw noSuch(server, uuid);
  return found;
}

/** A server that an operator names by its uuid is suspended, or not any more, whatever it is now. */
async function suspend(
  call: CallOf<'suspendServer'>,
  tx: Tx,
  library: EggLibrary,
  suspended: boolean,
): Promise<Answer> {
  return operate(tx, async (batch) => {
    const { object } = await requireServer(call, tx);
    const action = suspended ? 'suspend' : 'unsuspend';
    const terms = { actor: operatorActor(call), library, action };
    const make = () => ({ ...object, suspended });
    return answerOf(tx, server, await saveByHand(batch, server, object.uuid, make, terms));
  });
}

/** Creates a server that has no name of its own yet, on a node that has capacity for it. */
async function create(
  call: CallOf<'createServer'>,
  batch: Batch,
  library: EggLibrary,
): Promise<Answer> {
  const { tx } = batch;
  const { organisation, external_id: externalId = null } = call.body;
  const [beside, { node = null, ...declared }] = partition(call.body, BESIDE_SERVER);
  const given: { readonly egg?: string } = await besideServer.complete(
    tx,
    declared,
    beside,
    library,
  );
  if (given.egg === undefined) throw noEgg();
  const same = externalId === null ? null : await findOrdered(tx, organisation, externalId);
  if (same !== null) return answerSame(tx, same, given, library);
  const { eggs } = await outsideOf(tx, server, { library })(given);
  const [file] = eggs.values();
  const { docker_image: dockerImage = null, startup = null } = call.body;
  const egg = file?.ok === true ? withOwnStart(file.found.egg, { dockerImage, startup }) : null;
  const uuid = randomUUID();
  const placed = { ...given, ...(await placeServer(tx, { ...call.body, node }, egg)), uuid };
  const terms = { actor: operatorActor(call), library };
  const written = await saveByHand(batch, server, uuid, () => placed, terms);
  await besideServer.save(tx, uuid, beside);
  const [current = written.current] = await server.load(tx, [uuid]);
  return answerOf(tx, server, { ...written, current });
}

async function findOrdered(
  tx: Tx,
  organisation: string,
  externalId: string,
): Promise<StoredServer | null> {
  const { rows } = await sql<{ uuid: string }>`
    select uuid from game_servers join organisations o on o.id = organisation_id
     where o.slug = ${organisation} and game_servers.external_id = ${externalId}`.execute(tx);
  const [found = null] =
    rows.length === 0
      ? []
      : await server.load(
          tx,
          rows.map(({ uuid }) => uuid),
        );
  return found;
}

/** Answers a repetition without its Idempotency-Key, perhaps days later. */
async function answerSame(
  tx: Tx,
  same: StoredServer,
  given: object,
  library: EggLibrary,
): Promise<Answer> {
  const named = Object.entries(given).filter(([, value]) => value !== null);
  const patch = Object.fromEntries(named);
  const find = outsideOf(tx, server, { library });
  const wanted = await readWhole(server, patched(server, same.object, patch), same.object, find);
  const words = differenceOf(server, same, wanted)?.words ?? '';
  if (words !== '') {
    const detail = `The server ${same.object.uuid} has this external id and differs: ${words}. Change it instead.`;
    throw conflict(detail, '/external_id');
  }
  return answerOf(tx, server, { current: same, isNew: true, generation: null, secret: null });
}
