import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';
import type { Owner } from '../../db/schema.ts';
import { lockNodes, settleOpenings } from '../../game-servers/openings/index.ts';
import { followPorts } from '../../firewall/named-ports/index.ts';
import type { Batch } from '../../fleet/batch.ts';
import { deleteNode } from '../../game-servers/index.ts';
import type { Change } from '../plan/change.ts';
import type { DesiredGameServer, FoundEgg } from '../desired.ts';

export async function saveNode(
  tx: Tx,
  change: Change<'node.create' | 'node.delete'>,
): Promise<void> {
  if (change.do === 'node.create') {
    await sql`insert into nodes (name, owner) values (${change.name}, 'fleet')`.execute(tx);
  } else await deleteNode(tx, change.id);
}

export async function saveGameServer(
  batch: Batch,
  change: Change<'server.create' | 'server.update' | 'server.delete'>,
  organisationId: number,
): Promise<void> {
  const uuid = change.do === 'server.delete' ? change.uuid : change.server.uuid;
  const moves = change.do !== 'server.update' || change.moved;
  await lockNodes(batch.tx, [uuid]);
  if (moves) await touchManaged(batch, uuid);
  if (change.do === 'server.delete') {
    await sql`delete from game_servers where uuid = ${uuid}`.execute(batch.tx);
  } else {
    if (change.do === 'server.create') {
      await createGameServer(batch.tx, change.server, { organisationId, owner: 'fleet' });
    } else await updateGameServer(batch.tx, change.server, change.rebuild);
    if (moves) await touchManaged(batch, uuid);
  }
  if (moves) await followPorts(batch, [uuid]);
  await settleOpenings(batch, [uuid]);
}

/** Managed filters of service `s` that name ports of its servers. */
const NAMES_PORTS = sql`s.managed_filters @? '$[*] ? (@.ports like_regex ":")'`;

/** Managed filters apply to the ports of a service's game servers, so a server that moves changes its policies. */
async function touchManaged(batch: Batch, uuid: string): Promise<void> {
  const { rows } = await sql<{ cidr: string }>`
    select h.cidr from game_servers g
      join services s on s.id = g.service_id
      join holdings h on h.service_id = s.id
     where g.uuid = ${uuid} and (s.managed_filters @> '[{"ports": null}]' or ${NAMES_PORTS})`.execute(
    batch.tx,
  );
  if (rows.length > 0) batch.touch(...rows.map(({ cidr }) => cidr));
}

async function saveEgg(tx: Tx, { digest, egg }: FoundEgg): Promise<void> {
  await sql`
    insert into eggs (digest, egg) values (${digest}, ${JSON.stringify(egg)}::jsonb)
    on conflict do nothing`.execute(tx);
}

/** Creates a server and its egg; its node then builds it. */
export async function createGameServer(
  tx: Tx,
  server: Omit<DesiredGameServer, 'at' | 'organisation'>,
  { organisationId, owner }: { readonly organisationId: number; readonly owner: Owner },
): Promise<void> {
  const { uuid, serviceId, name, node, eggName, egg, image, limits, ip, port } = server;
  await saveEgg(tx, egg);
  await sql`
    insert into game_servers (uuid, organisation_id, service_id, node_id, name, egg_digest, egg_name,
      image, variables, memory_mib, cpu_percent, disk_mib, ip, port, ports, open_while_running, open_ports,
      suspended, crash_restart, crash_within_ms, owner)
    select ${uuid}, ${organisationId}, ${serviceId}, nodes.id, ${name}, ${egg.digest}, ${eggName},
           ${image}, ${JSON.stringify(server.variables)}::jsonb, ${limits.memory}, ${limits.cpu},
           ${limits.disk}, ${ip}, ${port}, ${JSON.stringify(server.ports)}::jsonb, ${server.openWhileRunning},
           ${server.openPorts}::text[], ${server.suspended},
           ${server.crashes.restart}, ${server.crashes.withinMs}, ${owner}
      from nodes where nodes.name = ${node}`.execute(tx);
}

async function updateGameServer(
  tx: Tx,
  server: DesiredGameServer,
  rebuild: boolean,
): Promise<void> {
  const { uuid, serviceId, name, node, eggName, egg, image, limits, ip, port } = server;
  await saveEgg(tx, egg);
  await sql`
    update game_servers set service_id = ${serviceId}, node_id = nodes.id, name = ${name},
           egg_digest = ${egg.digest}, egg_name = ${eggName}, image = ${image},
           variables = ${JSON.stringify(server.variables)}::jsonb, memory_mib = ${limits.memory},
           cpu_percent = ${limits.cpu}, disk_mib = ${limits.disk}, ip = ${ip}, port = ${port},
           ports = ${JSON.stringify(server.ports)}::jsonb,
           open_while_running = ${server.openWhileRunning}, open_ports = ${server.openPorts}::text[],
           suspended = ${server.suspended}, crash_restart = ${server.crashes.restart},
           crash_within_ms = ${server.crashes.withinMs}
      from nodes where nodes.name = ${node} and game_servers.uuid = ${uuid}`.execute(tx);
  if (rebuild) await requestBuild(tx, uuid);
}

/** Makes its node install it again. It cannot be started until that is done. */
async function requestBuild(tx: Tx, uuid: string): Promise<void> {
  await sql`
    update game_servers set build_epoch = build_epoch + 1, build_state = 'waiting', build_reason = null,
           build_log = null, identifier = null
     where uuid = ${uuid}`.execute(tx);
}

/** Deletes eggs that no server uses. */
export async function sweepEggs(tx: Tx): Promise<void> {
  await sql`
    delete from eggs where not exists (select from game_servers where egg_digest = eggs.digest)`.execute(
    tx,
  );
}
