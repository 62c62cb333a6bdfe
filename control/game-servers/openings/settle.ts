import { type RawBuilder, sql } from 'kysely';
import { type Actor, recordAudits } from '../../access/index.ts';
import type { Db, Tx } from '../../db/database.ts';
import { lockRows } from '../../db/locks.ts';
import { Batch, UNSTAMPED } from '../../fleet/batch.ts';

/** A port that is to be opened (`id` null) or closed. */
interface Unsettled {
  readonly id: number | null;
  readonly server: string;
  readonly holdingId: number;
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

export type SettledPorts = readonly Unsettled[];

/**
 * Servers with a difference between the open ports of servers and what their state wants; `servers` is a list in SQL.
 */
function unsettled(servers: RawBuilder<unknown>): RawBuilder<Unsettled> {
  return sql`
    select o.id, coalesce(o.server, w.server) as server, coalesce(o.holding_id, w.holding_id) as "holdingId",
           host(coalesce(o.ip, w.ip)) as ip, coalesce(o.protocol, w.protocol) as protocol,
           coalesce(o.port, w.port) as port
      from (select * from wanted_openings where server in ${servers}) w
      full join (select * from server_openings where deleted_generation is null and server in ${servers}) o
        on o.server = w.server and o.holding_id = w.holding_id and o.ip = w.ip
       and o.protocol = w.protocol and o.port = w.port
     where o.id is null or w.server is null
     order by 2, 4, 6, 5`;
}

/**
 * Opens and closes ports of servers as their state wants. Needs the locks of their nodes (`lockNodes`), so that two
 * processes never do the same. Returns what changed.
 */
export async function settleOpenings(
  batch: Batch,
  servers: readonly string[],
): Promise<SettledPorts> {
  const { rows } = await unsettled(sql`(select unnest(${servers}::uuid[]))`).execute(batch.tx);
  if (rows.length === 0) return rows;
  await batch.end(
    'server_openings',
    rows.flatMap(({ id }) => id ?? []),
  );
  const opened = rows.filter(({ id }) => id === null);
  const created = await sql<{ id: number }>`
    insert into server_openings (server, holding_id, ip, protocol, port, created_generation)
    select server, "holdingId", ip, protocol, port, ${UNSTAMPED.created_generation}
      from jsonb_to_recordset(${JSON.stringify(opened)}::jsonb)
        as o (server uuid, "holdingId" bigint, ip inet, protocol text, port integer)
    returning id`.execute(batch.tx);
  batch.begin(
    'server_openings',
    created.rows.map(({ id }) => id),
  );
  batch.touch(...new Set(rows.map(({ ip }) => ip)));
  return rows;
}

/** Locks the nodes of servers, as each of their heartbeats does first. */
export async function lockNodes(tx: Tx, servers: readonly string[]): Promise<void> {
  const { rows } = await sql<{ id: number }>`
    select distinct node_id as id from game_servers where uuid = any(${servers}::uuid[])`.execute(
    tx,
  );
  await lockRows(
    tx,
    'nodes',
    rows.map(({ id }) => id),
    'no key update',
  );
}

/** Settles the servers of a node that its transaction has locked. Returns what changed; takes a generation for it. */
export async function settleNode(
  tx: Tx,
  node: { readonly id: number; readonly name: string },
): Promise<SettledPorts> {
  const { rows } = await unsettled(ofNode(node)).execute(tx);
  return settle(
    tx,
    node.name,
    rows.map(({ server }) => server),
  );
}

/** A heartbeat's change of ports is a generation, which every write waits for: a node may have these at once, */
export const PORT_CHANGES_AT_ONCE = 20;
/** and one in this time. */
const PORT_CHANGE_SECONDS = 2;

/**
 * Like `settleNode`, at the node's rate. What is beyond it stays as it is until the next check of all servers
 * (lost-nodes.ts) or a later heartbeat settles the state of then, so changes back and forth are one.
 */
export async function settleReported(
  tx: Tx,
  node: { readonly id: number; readonly name: string },
): Promise<SettledPorts> {
  const { rows } = await unsettled(ofNode(node)).execute(tx);
  if (rows.length === 0) return [];
  const { rows: taken } = await sql`
    update nodes
       set ports_due = greatest(ports_due, clock_timestamp()) + make_interval(secs => ${PORT_CHANGE_SECONDS})
     where id = ${node.id}
       and ports_due < clock_timestamp()
                       + make_interval(secs => ${(PORT_CHANGES_AT_ONCE - 1) * PORT_CHANGE_SECONDS})
    returning 1`.execute(tx);
  if (taken.length === 0) return [];
  return settle(
    tx,
    node.name,
    rows.map(({ server }) => server),
  );
}

/** Whether a server has ports that are allowed while it runs. */
export const OPENS_PORTS = sql`
  (open_while_running or exists (select from added_ports where server = game_servers.uuid))`;

function ofNode({ id }: { readonly id: number }): RawBuilder<unknown> {
  return sql`(select uuid from game_servers where node_id = ${id} and ${OPENS_PORTS})`;
}

/** Servers whose ports are not as their state wants: a holding began or ended, or a server is gone. */
export async function findUnsettled(db: Db): Promise<readonly string[]> {
  const { rows } = await unsettled(
    sql`(select uuid from game_servers where ${OPENS_PORTS}
          union select server from server_openings where deleted_generation is null)`,
  ).execute(db);
  return [...new Set(rows.map(({ server }) => server))];
}

/** Settles servers in a transaction that has locked their nodes, as one generation of the system. */
export async function settle(
  tx: Tx,
  name: string,
  servers: readonly string[],
): Promise<SettledPorts> {
  if (servers.length === 0) return [];
  const batch = new Batch(tx, 'fleet');
  const changed = await settleOpenings(batch, servers);
  const generation = await batch.takeGeneration('server.ports');
  const actor: Actor = { kind: 'system', name, source: null, requestId: null };
  await recordAudits(tx, actor, await describe(tx, changed, generation));
  return changed;
}

async function describe(tx: Tx, changed: readonly Unsettled[], generation: number | null) {
  const holdings = changed.map(({ holdingId }) => holdingId);
  const { rows } = await sql<{ id: number; organisationId: number }>`
    select id, organisation_id as "organisationId" from holdings where id = any(${holdings}::bigint[])`.execute(
    tx,
  );
  const organisations = new Map(rows.map(({ id, organisationId }) => [id, organisationId]));
  const byTarget = Map.groupBy(changed, ({ ip, holdingId, server, id }) =>
    [ip, holdingId, server, id === null].join(' '),
  );
  return [...byTarget.values()].flatMap((ports) => {
    const [first] = ports;
    if (first === undefined) return [];
    return {
      organisationId: organisations.get(first.holdingId) ?? null,
      action: first.id === null ? 'server.open' : 'server.close',
      target: first.ip,
      detail: {
        server: first.server,
        ports: ports.map(({ protocol, port }) => `${protocol} ${port}`),
      },
      generation,
    };
  });
}
