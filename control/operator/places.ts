import type { ServerObject } from '@portcullis/contract/schemas/declared/game-server.ts';
import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import { withOwnStart } from '@portcullis/core/game-servers/eggs/own-start.ts';
import {
  choosePlace,
  type LackKind,
  type PlaceNode,
} from '@portcullis/core/game-servers/placement.ts';
import { canonicalAddress } from '@portcullis/core/net/address.ts';
import { parsePortExpression } from '@portcullis/core/net/ports.ts';
import { sql } from 'kysely';
import type { Reader, Tx } from '../db/database.ts';
import {
  loadLeftDisk,
  loadNodeStatuses,
  loadStoredEgg,
  type NodeStatus,
} from '../game-servers/index.ts';
import { conflict, invalidField, Problem } from '../problem.ts';
import { hostsOf } from './egg-hosts.ts';

interface PlacementRequest {
  readonly node?: string | null;
  readonly limits: { readonly memory: number; readonly disk: number };
  readonly allocations?: readonly { readonly ip: string }[];
  /** The label of an image of the egg; null or left out: the first. */
  readonly image?: string | null;
}

/**
 * The node for a server, and a port of it where the request has none. 422 with what each node lacks.
 */
export async function placeServer(
  tx: Tx,
  { node = null, limits, allocations, image }: PlacementRequest,
  egg: Pick<Egg, 'images'> | null,
): Promise<{ readonly node: string; readonly allocation?: { ip: string; port: number } }> {
  const nodes = await loadNodeStatuses(tx);
  if (node !== null && !nodes.some(({ name }) => name === node)) {
    throw invalidField('/node', `There is no node ${node}.`);
  }
  const addresses = allocations?.map(({ ip }) => canonicalAddress(ip) ?? ip) ?? null;
  const { memory, disk } = limits;
  const placed = choosePlace(
    { node, memory, disk, addresses },
    nodes.map((one) => placeNodeOf(one, egg, image ?? null)),
    addresses === null ? await loadTaken(tx) : new Set(),
  );
  if (placed.ok) {
    const { place } = placed;
    return { node: place.node, ...(place.given && { allocation: place.given }) };
  }
  const reasons = placed.lacks.map(({ node: name, what }) => `${name} ${what}`).join('; ');
  const detail = `No node has room for it: ${reasons.replace(/\.$/, '') || 'the fleet has no node'}.`;
  throw new Problem('no_capacity', detail);
}

/** The node of a server: without an egg it is where it is already. */
function placeNodeOf(
  status: NodeStatus,
  egg: Pick<Egg, 'images'> | null,
  image: string | null,
): PlaceNode {
  const { engine, ports, ...node } = status;
  const ranges = parsePortExpression(ports);
  // An engine that answers may have a problem too, which is a warning.
  const answers = typeof engine?.version === 'string';
  const [host] = answers && egg !== null ? hostsOf(egg, [status], 'portcullis', image) : [];
  const problem = answers
    ? (host?.reason ?? null)
    : (engine?.problem ?? 'its engine does not answer');
  return { ...node, problem, ports: ranges.ok ? ranges.value : [] };
}

/** A node, and what keeps a server from it. */
export interface ServerPlace {
  readonly node: string;
  /** Null: it fits. */
  readonly lack: LackKind | null;
  /** The address and port that it would get. */
  readonly allocation: { readonly ip: string; readonly port: number } | null;
  /** The part of its memory that is in use. */
  readonly used: number;
}

/** Every node with what keeps a server from it, which gets a port there. By name; none is preferred. */
export async function findPlaces(
  tx: Reader | Tx,
  {
    limits: { memory, disk },
    image,
    organisationId,
  }: Pick<PlacementRequest, 'limits' | 'image'> & {
    /** Its own addresses come first. */
    readonly organisationId: number;
  },
  egg: Pick<Egg, 'images'>,
): Promise<ServerPlace[]> {
  const nodes = await loadNodeStatuses(tx);
  const taken = await loadTaken(tx);
  const held = await loadHeld(tx, organisationId, nodes);
  return nodes.map((status) => {
    const node = placeNodeOf(status, egg, image ?? null);
    const own = node.addresses.filter((ip) => held.includes(ip));
    const addresses = [...own, ...node.addresses.filter((ip) => !own.includes(ip))];
    const wish = { node: null, memory, disk, addresses: null };
    const placed = choosePlace(wish, [{ ...node, addresses }], taken);
    return {
      node: node.name,
      lack: placed.ok ? null : (placed.lacks[0]?.kind ?? 'connection'),
      allocation: placed.ok ? placed.place.given : null,
      used: node.memory === null ? 0 : node.memoryUsed / node.memory,
    };
  });
}

/** The addresses of nodes that the organisation holds now. */
async function loadHeld(
  tx: Reader | Tx,
  organisationId: number,
  nodes: readonly NodeStatus[],
): Promise<readonly string[]> {
  const addresses = nodes.flatMap((node) => node.addresses);
  const { rows } = await sql<{ ip: string }>`
    select a.ip from unnest(${addresses}::text[]) as a (ip)
     where ${organisationId} = (select organisation_id from holdings
                                 where cidr >>= a.ip::inet and during @> statement_timestamp()
                                 order by masklen(cidr) desc limit 1)`.execute(tx);
  return rows.map(({ ip }) => ip);
}

async function loadTaken(tx: Reader | Tx): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ taken: string }>`
    select host(ip) || ' ' || port as taken from server_ports`.execute(tx);
  return new Set(rows.map(({ taken }) => taken));
}

interface Placed {
  readonly object: ServerObject;
  /** The server as it is; null: it is new. */
  readonly before: { readonly object: ServerObject } | null;
}

/** Throws 422 when a node has no capacity for what a server gets more than it has, or another server has its ports. */
export async function admitServer(tx: Tx, { object, before }: Placed): Promise<void> {
  const { uuid, node, limits, allocations, image, egg_digest: digest } = object;
  await requireService(tx, object);
  await requireAble(tx, object);
  const stays = before?.object.node === node;
  const left = { memory: 0, disk: stays ? 0 : await loadLeftDisk(tx, uuid, node) };
  const own = stays ? before.object.limits : left;
  const more = { memory: limits.memory - own.memory, disk: limits.disk - own.disk };
  const bound = JSON.stringify(allocations) !== JSON.stringify(before?.object.allocations);
  if (!stays || bound || more.memory > 0 || more.disk > 0) {
    const egg = before === null ? await loadStoredEgg(tx, digest) : null;
    const { docker_image: dockerImage, startup } = object;
    const started = egg && withOwnStart(egg.egg, { dockerImage, startup });
    await placeServer(tx, { node, limits: more, allocations, image }, started);
  }
  if (bound) await requireFreePorts(tx, object);
}

/** 422 where the agent of its node knows no server without a limit, or does not offer what it mounts. */
async function requireAble(tx: Tx, { node, limits, mounts }: ServerObject): Promise<void> {
  const unlimited = (['memory', 'cpu', 'disk'] as const).find((limit) => limits[limit] === 0);
  if (unlimited === undefined && mounts.length === 0) return;
  const { rows } = await sql<{
    offers: readonly { path: string }[] | null;
    sources: Readonly<Record<string, string>>;
  }>`
    select engine -> 'mounts' as offers,
           (select coalesce(jsonb_object_agg(m ->> 'name', m ->> 'source'), '{}')
              from jsonb_array_elements(mounts) m) as sources
      from nodes where name = ${node} and engine is not null`.execute(tx);
  const [found] = rows;
  // One that never connected says so when it starts the server.
  if (found === undefined) return;
  if (found.offers === null) {
    const detail = `The agent of ${node} is of an older version, which knows no mounts and no server without a limit: update it first.`;
    const pointer = unlimited === undefined ? '/mounts' : `/limits/${unlimited}`;
    throw conflict(detail, pointer);
  }
  for (const [index, name] of mounts.entries()) {
    const source = found.sources[name];
    if (source === undefined || found.offers.some(({ path }) => path === source)) continue;
    const detail = `${node} does not offer ${source} to servers: start its agent with --mounts ${source}.`;
    throw conflict(detail, `/mounts/${index}`);
  }
}

async function requireService(tx: Tx, { organisation, service }: ServerObject): Promise<void> {
  const { rows } = await sql<{ has: boolean }>`
    select exists (select from services s where s.id = ${service} and s.organisation_id = o.id) as has
      from organisations o where o.slug = ${organisation}`.execute(tx);
  const [found] = rows;
  if (found === undefined) {
    throw invalidField('/organisation', `There is no organisation ${organisation}.`);
  }
  if (found.has) return;
  throw conflict(`The organisation has no service ${service}: make it first.`, '/service');
}

/** 422 where another server has one of its ports. */
async function requireFreePorts(tx: Tx, { uuid, allocations }: ServerObject): Promise<void> {
  for (const [at, { ip, port }] of allocations.entries()) {
    const { rows } = await sql<{ name: string }>`
      select g.name from server_ports p join game_servers g on g.uuid = p.uuid
       where p.ip = ${ip}::inet and p.port = ${port} and p.uuid <> ${uuid}::uuid`.execute(tx);
    const [other] = rows;
    if (other === undefined) continue;
    throw conflict(`${ip} port ${port} is that of ${other.name}.`, `/allocations/${at}`);
  }
}
