import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { keyActor, seesServer } from '../access/index.ts';
import type { Reader, Tx } from '../db/database.ts';
import type { Batch } from '../fleet/batch.ts';
import { type FoundEgg, recordDone } from '../game-servers/index.ts';
import type { CallOf } from '../http/operations/handlers.ts';
import { notSeen } from '../http/operations/not-found.ts';
import type { Answer } from '../http/operations/operation.ts';
import {
  type EggLibrary,
  findEgg,
  findPlaces,
  operate,
  removeByHand,
  saveByHand,
  server,
  type ServerPlace,
} from '../operator/index.ts';
import { conflict, invalidField, Problem } from '../problem.ts';
import { listServices, requireQuota } from './quota.ts';
import { ownVariables, placeView } from './views.ts';

type Made = CallOf<'makeGameServer'>;

/** An egg of the library that the operator offers. What is not offered is answered like what is not there. */
export async function requireOffered(
  db: Reader | Tx,
  library: EggLibrary,
  name: string,
): Promise<FoundEgg> {
  const file = await findEgg(db, library, name);
  if (file.ok && file.offered === true) return file.found;
  throw invalidField('/egg', `There is no egg ${name} to choose: listOfferedEggs lists them.`);
}

/** A key that is bound to servers would not see what it made. */
export function requireUnbound({ by }: Pick<Made, 'by'>): void {
  if (by.servers === null && by.managedServers === null) return;
  throw new Problem(
    'ability_missing',
    'This key is bound to some servers, so it makes none: use one that is not.',
  );
}

/** Makes a server of the organisation, on a node where it fits, within the quota. */
export async function makeServer(call: Made, tx: Tx, library: EggLibrary): Promise<Answer> {
  requireUnbound(call);
  return operate(tx, async (batch) => {
    const { organisationId } = call.by;
    const { limits, name, egg } = call.body;
    await requireQuota(tx, organisationId, limits);
    const found = await requireOffered(tx, library, egg);
    requireOwnVariables(call, found);
    const place = await choose(call, tx, found);
    const service = await requireService(call, tx);
    const uuid = await save(call, batch, { place, service, library });
    const { node, allocation } = place;
    const data = { uuid, name, egg, node, service_id: service, limits, allocation };
    return {
      status: 201,
      body: { data, message: `The server ${name} is being built on ${node}.` },
    };
  });
}

function requireOwnVariables({ body }: Made, { egg }: FoundEgg): void {
  const own = new Set(ownVariables(egg).map(({ env }) => env));
  const errors = Object.keys(body.variables ?? {})
    .filter((env) => !own.has(env))
    .map((env) => ({
      pointer: `/variables/${env}`,
      detail: `${env} is no setting of this game that owners choose.`,
    }));
  if (errors.length === 0) return;
  throw new Problem('invalid_request', errors.map(({ detail }) => detail).join(' '), { errors });
}

interface Chosen {
  readonly place: ServerPlace;
  readonly service: number;
  readonly library: EggLibrary;
}

async function save(
  call: Made,
  batch: Batch,
  { place, service, library }: Chosen,
): Promise<string> {
  const { tx } = batch;
  const { organisation, organisationId } = call.by;
  const { name, egg, image = null, variables = {}, limits } = call.body;
  const { node, allocation } = place;
  const uuid = randomUUID();
  const declared = {
    uuid,
    organisation: organisation.slug,
    service,
    name,
    node,
    egg,
    image,
    variables,
    limits,
    allocation,
    open_while_running: true,
  };
  const actor = keyActor(call);
  await saveByHand(batch, server, uuid, () => declared, { actor, library });
  await sql`update game_servers set made_by = ${organisationId} where uuid = ${uuid}`.execute(tx);
  const door = call.by.kind === 'key' ? 'api' : 'portal';
  const done = { action: 'create', detail: { egg, node } };
  await recordDone(tx, uuid, { ...actor, door }, done);
  return uuid;
}

/** The node that was asked for, or the one with the smallest part of its memory in use of those where it fits. */
async function choose(call: Made, tx: Tx, { egg }: FoundEgg): Promise<ServerPlace> {
  const { node = null, limits, image = null } = call.body;
  const { organisationId } = call.by;
  const places = await findPlaces(tx, { limits, image, organisationId }, egg);
  const considered = places.filter((one) => node === null || one.node === node);
  if (node !== null && considered.length === 0) {
    throw invalidField('/node', `There is no node ${node}.`);
  }
  const [best] = considered
    .filter(({ lack }) => lack === null)
    .toSorted((a, b) => a.used - b.used || (a.node < b.node ? -1 : 1));
  if (best !== undefined) return best;
  const reasons = considered.map((one) => `${one.node}: ${placeView(one).reason}`).join(' ');
  const detail = `It fits on no node now. ${reasons || 'There is none.'}`;
  throw new Problem('no_capacity', detail);
}

/** The service that was asked for, or the first of the organisation. */
async function requireService({ by, body }: Made, tx: Tx): Promise<number> {
  const { service = null } = body;
  const services = await listServices(tx, by.organisationId);
  const found = services.find(({ id }) => service === null || id === service);
  if (found !== undefined) return found.id;
  if (service !== null) {
    const detail = `There is no active service ${service}: readServerQuota lists them.`;
    throw invalidField('/service', detail);
  }
  throw conflict(
    'The organisation has no service that a server could belong to: the operator makes one.',
  );
}

/** Deletes a server that the organisation made by itself. */
export async function deleteServer(
  call: CallOf<'deleteGameServer'>,
  tx: Tx,
  library: EggLibrary,
): Promise<Answer> {
  const { by, params } = call;
  const uuid = params.slice;
  return operate(tx, async (batch) => {
    const isManaged = by.managedServers?.includes(uuid) ?? true;
    if (!isManaged || !(await seesServer(tx, by, uuid))) throw notSeen();
    const { rows } = await sql<{ name: string; suspended: boolean; own: boolean }>`
      select name, suspended, made_by is not distinct from organisation_id as own
        from game_servers where uuid = ${uuid}`.execute(tx);
    const [found] = rows;
    if (found?.own !== true) {
      throw conflict(`${found?.name} was made by the operator, who deletes it: ask for it.`);
    }
    // Its files are evidence, and another server in its place would run.
    if (found.suspended)
      throw conflict(`${found.name} is suspended: its operator alone deletes it.`);
    await removeByHand(batch, server, uuid, { actor: keyActor(call), library });
    await keepNewest(tx, uuid, by.organisationId);
    return { status: 200, body: { data: { done: true } } };
  });
}

/**
 * Keeps the files of as many deleted servers as the organisation may have, and has its older ones purged now: else owners
 * could fill the disk of a node by making and deleting.
 */
async function keepNewest(tx: Tx, uuid: string, organisationId: number): Promise<void> {
  await sql`
    update deleted_servers set made_by = ${organisationId}, by_maker = true
     where uuid = ${uuid}
       and node_id = (select node_id from deleted_servers where uuid = ${uuid}
                       order by deleted_at desc limit 1)`.execute(tx);
  await sql`
    update deleted_servers d set purge_at = clock_timestamp()
      from (select uuid, node_id from deleted_servers where made_by = ${organisationId} and by_maker
             order by deleted_at desc, uuid
            offset (select own_servers from organisations where id = ${organisationId})) as old
     where d.uuid = old.uuid and d.node_id = old.node_id and coalesce(d.purge_at > clock_timestamp(), true)`.execute(
    tx,
  );
}
