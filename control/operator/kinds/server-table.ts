import type { ServerObject } from '@portcullis/contract/schemas/declared/game-server.ts';
import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';
import { followPorts } from '../../firewall/named-ports/index.ts';
import type { Batch } from '../../fleet/batch.ts';
import {
  dropAddedPorts,
  forgetLeft,
  handOver,
  keepPeople,
  LIMIT_COLUMNS,
  recordLeft,
  takePeopleBack,
} from '../../game-servers/index.ts';
import { lockNodes, settleOpenings, touchManaged } from '../../game-servers/openings/index.ts';
import type { Current, Wanted } from '../kind.ts';
import { changedSettings, isStated } from '../people-settings.ts';
import { given, kindTable, named } from '../table.ts';

/** The first port of every server, whatever else it is called. */
export const PRIMARY = 'primary';

export type ServerAllocation = ServerObject['allocations'][number];

interface ServerFacts {
  /** The id by which a billing system calls it. */
  readonly externalId: string | null;
  /** Protocols of its port, where none are listed. */
  readonly eggProtocols: readonly ('tcp' | 'udp')[];
  /** Its node has installed it, so it has files. */
  readonly provisioned: boolean;
  readonly build: { readonly state: string; readonly reason: string | null };
  /** Settings that its people set, as JSON pointers. */
  readonly setByPeople: readonly string[];
}
export type StoredServer = Current<ServerObject, ServerFacts>;
type WantedServer = Wanted<ServerObject, ServerFacts>;

const [ports, opening] = [given('allocations'), given('open_while_running')];

/** A server with one port that has no name has none in the list: its protocols are those of the egg. */
const allocations = {
  column: 'ports',
  type: 'jsonb',
  read: (column: ReturnType<typeof given>) => sql`
    case when ${column} <> '[]' then ${column}
         else jsonb_build_array(jsonb_build_object('ip', host(game_servers.ip), 'port', game_servers.port,
                'protocols', null, 'variable', null, 'name', null)) end`,
  write: (value: ReturnType<typeof given>) => sql`
    case when ${value} @> '[{"protocols": null}]' then '[]' else ${value} end`,
} as const;

export const serverTable = kindTable<ServerObject, ServerFacts>({
  table: 'game_servers',
  key: 'uuid',
  id: sql<number>`0`,
  columns: {
    uuid: 'uuid',
    organisation: named('organisation_id', 'organisations', 'slug'),
    service: ['service_id', 'bigint'],
    name: 'text',
    node: named('node_id', 'nodes', 'name'),
    egg: ['egg_name', 'text'],
    egg_digest: 'text',
    image: 'text',
    variables: 'jsonb',
    docker_image: 'text',
    startup: 'text',
    limits: LIMIT_COLUMNS,
    mounts: 'text[]',
    allocations,
    open_while_running: {
      column: 'open_while_running',
      type: 'jsonb',
      read: (column) => sql`coalesce(to_jsonb(game_servers.open_ports), to_jsonb(${column}))`,
      write: (value) => sql`${value} <> 'false'`,
    },
    suspended: 'boolean',
    start_with_host: 'text',
    stop_seconds: 'integer',
    crashes: {
      restart: ['crash_restart', 'boolean'],
      within_seconds: {
        column: 'crash_within_ms',
        type: 'integer',
        read: (column) => sql`${column} / 1000`,
        write: (value) => sql`${value} * 1000`,
      },
      tries: ['crash_tries', 'integer'],
    },
  },
  derived: {
    ip: sql`(${ports} -> 0 ->> 'ip')::inet`,
    port: sql`(${ports} -> 0 ->> 'port')::integer`,
    open_ports: sql`
      case when jsonb_typeof(${opening}) = 'array' then array(select jsonb_array_elements_text(${opening})) end`,
  },
  facts: {
    externalId: sql`external_id`,
    eggProtocols: sql`(select egg -> 'protocols' from eggs where digest = game_servers.egg_digest)`,
    provisioned: sql`provisioned`,
    build: sql`jsonb_build_object('state', build_state, 'reason', build_reason)`,
    setByPeople: sql`set_by_people`,
  },
});

/** Creates and changes servers of the side that writes; their nodes build the new ones, and those that moved to them. */
export async function saveServers(batch: Batch, many: readonly WantedServer[]): Promise<void> {
  const { tx } = batch;
  const uuids = many.map(({ object }) => object.uuid);
  const moved = uuidsOf(many.filter(isMoved));
  const rebuilt = uuidsOf(many.filter(isRebuilt));
  await lockNodes(tx, uuids);
  await touchManaged(batch, moved);
  await recordLeft(
    tx,
    many.flatMap((one) => (isRebuilt(one) ? (one.before ?? []) : [])),
  );
  await serverTable.upsert(
    batch,
    many.map(({ object }) => object),
  );
  await takePeopleBack(tx, uuidsOf(many.filter(({ before }) => before === null)));
  await forgetLeft(tx, uuids);
  await requestBuilds(tx, rebuilt);
  await forgetReplaced(tx, many);
  await handOver(tx, uuidsOf(many.filter(isHandedOver)));
  await dropAddedPorts(tx, { moved: rebuilt, declared: uuids });
  await touchManaged(batch, moved);
  await followPorts(batch, moved);
  await settleOpenings(batch, uuids);
}

export async function removeServers(batch: Batch, many: readonly StoredServer[]): Promise<void> {
  const uuids = uuidsOf(many);
  await lockNodes(batch.tx, uuids);
  await touchManaged(batch, uuids);
  await recordLeft(batch.tx, many);
  await keepPeople(batch.tx, uuids);
  await sql`delete from game_servers where uuid = any(${uuids}::uuid[])`.execute(batch.tx);
  await followPorts(batch, uuids);
  await settleOpenings(batch, uuids);
}

function uuidsOf(many: readonly { readonly object: ServerObject }[]): string[] {
  return many.map(({ object }) => object.uuid);
}

/** Whether it is new, or its addresses, ports or service change. */
function isMoved({ object, before }: WantedServer): boolean {
  return (
    before === null ||
    before.object.service !== object.service ||
    hasOtherPorts(before.object, object)
  );
}

function isHandedOver({ object, before }: WantedServer): boolean {
  return before !== null && before.object.organisation !== object.organisation;
}

function isRebuilt({ object, before }: WantedServer): boolean {
  return before !== null && before.object.node !== object.node;
}

export function hasOtherPorts(before: ServerObject, after: ServerObject): boolean {
  return describePorts(before) !== describePorts(after);
}

function describePorts({ allocations: all }: ServerObject): string {
  return all
    .map(({ ip, port, protocols, variable, name }) =>
      [ip, port, protocols?.join('+') ?? '-', variable ?? '-', name ?? '-'].join(' '),
    )
    .join('; ');
}

/** Settings of the people of a server that are replaced are no longer theirs. */
async function forgetReplaced(tx: Tx, many: readonly WantedServer[]): Promise<void> {
  const rows = many.flatMap(({ object, before }) => {
    const { setByPeople: own = [] } = before?.facts ?? {};
    if (before === null || own.length === 0) return [];
    const changed = new Set(changedSettings(before.object, object));
    const left = own.filter((pointer) => !changed.has(pointer));
    return left.length === own.length ? [] : [{ uuid: object.uuid, own: left }];
  });
  if (rows.length === 0) return;
  await sql`
    update game_servers set set_by_people = array(select jsonb_array_elements_text(given.own))
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as given (uuid uuid, own jsonb)
     where game_servers.uuid = given.uuid`.execute(tx);
}

/**
 * Takes from the people of servers the settings that a file states, also where it states what they set: else they could
 * change them, and the next apply would take that back.
 */
export async function forgetStated(
  tx: Tx,
  stored: readonly StoredServer[],
  declared: readonly { readonly object: ServerObject }[],
): Promise<void> {
  const wanted = new Map(declared.map(({ object }) => [object.uuid, object]));
  const rows = stored.flatMap(({ object: { uuid }, facts: { setByPeople: own } }) => {
    const object = wanted.get(uuid);
    const stated = object === undefined ? [] : own.filter((pointer) => isStated(object, pointer));
    return stated.length === 0 ? [] : [{ uuid, stated }];
  });
  if (rows.length === 0) return;
  await sql`
    update game_servers set set_by_people = array(
             select unnest(set_by_people) except select jsonb_array_elements_text(given.stated) order by 1)
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as given (uuid uuid, stated jsonb)
     where game_servers.uuid = given.uuid`.execute(tx);
}

/** Makes nodes install servers again. They cannot be started until that is done. */
async function requestBuilds(tx: Tx, uuids: readonly string[]): Promise<void> {
  if (uuids.length === 0) return;
  await sql`
    update game_servers set build_epoch = build_epoch + 1, build_state = 'waiting', build_reason = null,
           build_log = null, identifier = null, empty_files = null
     where uuid = any(${uuids}::uuid[])`.execute(tx);
}
