import type { ServerRight } from '@portcullis/core/access/server-rights.ts';
import { freePort } from '@portcullis/core/game-servers/placement.ts';
import { parsePortExpression } from '@portcullis/core/net/ports.ts';
import { keyActor, recordAudit } from '../access/index.ts';
import type { Reader, Tx } from '../db/database.ts';
import { followPorts } from '../firewall/named-ports/index.ts';
import { Batch } from '../fleet/batch.ts';
import type { Handlers } from '../http/operations/handlers.ts';
import type { CallerCall } from '../http/operations/operation.ts';
import { conflict, invalidField, Problem } from '../problem.ts';
import { recordActivity, requireServer, type ServerCall } from '../game-servers/index.ts';
import { lockNodes, settleOpenings, touchManaged } from '../game-servers/openings/index.ts';
import {
  deletePort,
  insertPort,
  loadOffer,
  loadPorts,
  loadTaken,
  type PortOffer,
  type PortPlace,
  type ServerPortRow,
  setPrimary,
  updatePort,
} from './store.ts';

export type PortHandlers = Pick<
  Handlers,
  'listServerPorts' | 'addServerPort' | 'setServerPort' | 'choosePrimaryPort' | 'removeServerPort'
>;

type PortCall = CallerCall<{
  readonly slice: string;
  readonly address: string;
  readonly port: number;
}>;

/** The ports of a server: those of the operator, and those that its people add. */
export function createPortHandlers(): PortHandlers {
  return {
    async listServerPorts(call, db) {
      const { uuid } = await requireServer(db, call, 'allocation.read');
      return { status: 200, body: { data: await readPorts(db, uuid) } };
    },
    async addServerPort(call, tx) {
      const change = await begin(tx, call, 'allocation.create');
      const { name = null } = call.body;
      const place = await choosePort(tx, change, call.body.port ?? null);
      requireFreeName(change.ports, name, null);
      const { protocols = change.offer.protocols } = call.body;
      await insertPort(tx, change.server, { ...place, name, protocols });
      return finish(tx, call, change, { status: 201, action: 'add', place });
    },
    async setServerPort(call, tx) {
      const change = await begin(tx, call, 'allocation.update');
      const { ip, port } = requireAdded(change.ports, call.params);
      const { name = null, protocols = change.offer.protocols } = call.body;
      requireFreeName(change.ports, name, { ip, port });
      await updatePort(tx, change.server, { ip, port, name, protocols });
      return finish(tx, call, change, { status: 200, action: 'set', place: { ip, port } });
    },
    async choosePrimaryPort(call, tx) {
      const change = await begin(tx, call, 'allocation.update');
      const { ip, port } = requirePort(change.ports, call.params);
      await setPrimary(tx, change.server, { ip, port });
      return finish(tx, call, change, { status: 200, action: 'primary', place: { ip, port } });
    },
    async removeServerPort(call, tx) {
      const change = await begin(tx, call, 'allocation.delete');
      const { ip, port, primary } = requireAdded(change.ports, call.params);
      if (primary) {
        throw conflict(`${ip} port ${port} is the first one: make another the first one before.`);
      }
      await deletePort(tx, change.server, { ip, port });
      return finish(tx, call, change, { status: 200, action: 'remove', place: { ip, port } });
    },
  };
}

async function readPorts(db: Reader | Tx, server: string) {
  const { limit } = await loadOffer(db, server);
  return { ports: await loadPorts(db, server), limit };
}

/** A change of the ports of a server, whose node is locked: no other gives or takes ports of it meanwhile. */
interface Change {
  readonly server: string;
  readonly name: string;
  readonly offer: PortOffer;
  readonly ports: readonly ServerPortRow[];
  readonly batch: Batch;
}

async function begin(
  tx: Tx,
  call: Pick<ServerCall, 'by' | 'params'>,
  right: ServerRight,
): Promise<Change> {
  const { uuid: server, name } = await requireServer(tx, call, right);
  await lockNodes(tx, [server]);
  const batch = new Batch(tx, 'portal');
  await touchManaged(batch, [server]);
  const [offer, ports] = [await loadOffer(tx, server), await loadPorts(tx, server)];
  return { server, name, offer, ports, batch };
}

interface Done {
  readonly status: 200 | 201;
  readonly action: 'add' | 'set' | 'primary' | 'remove';
  readonly place: PortPlace;
}

/** Brings the firewall to the ports, and answers what there is now. */
async function finish(
  tx: Tx,
  call: Pick<ServerCall, 'by' | 'params' | 'source' | 'requestId'>,
  { server, name, offer, batch }: Change,
  { status, action, place: { ip, port } }: Done,
) {
  const detail = { ip, port };
  await recordActivity(tx, call, `ports.${action}`, detail);
  await touchManaged(batch, [server]);
  await followPorts(batch, [server]);
  await settleOpenings(batch, [server]);
  const generation = await batch.takeGeneration('server.ports');
  await recordAudit(tx, {
    actor: keyActor(call),
    organisationId: call.by.organisationId,
    action: `server.ports.${action}`,
    target: `server:${server}`,
    detail,
    ...(generation !== null && { generation }),
  });
  const isOff = offer.state === null || offer.state === 'offline';
  const message = isOff
    ? `${name} has it at its next start.`
    : `${name} runs: it has it at its next start. Restart it.`;
  return { status, body: { data: await readPorts(tx, server), message } };
}

/** A port of the node that no server has. 422 at the limit, or where there is none. */
async function choosePort(
  tx: Tx,
  { offer, ports, name }: Change,
  wanted: number | null,
): Promise<PortPlace> {
  const { limit, node, addresses } = offer;
  if (limit === 0) {
    throw new Problem('limit_exceeded', `People add no ports to ${name}: ask the operator.`);
  }
  if (ports.length >= limit) {
    throw new Problem('limit_exceeded', `${name} may have ${limit} ports, and has them.`);
  }
  const ranges = parsePortExpression(offer.ports);
  const given = ranges.ok ? ranges.value : [];
  const within = given.filter(
    ({ low, high }) => wanted === null || (low <= wanted && wanted <= high),
  );
  if (wanted !== null && within.length === 0) {
    throw invalidField(
      '/port',
      `${node} gives the ports ${offer.ports}, and ${wanted} is none of them.`,
    );
  }
  const only = wanted === null ? within : [{ low: wanted, high: wanted }];
  // At the address where players reach it already, if the node gives ports of that.
  const first = ports[0]?.ip;
  const ordered = addresses.toSorted((a, b) => Number(b === first) - Number(a === first));
  const taken = await loadTaken(tx, addresses);
  const place = freePort({ addresses: ordered, ports: only }, taken);
  if (place !== null) return place;
  const lack = wanted === null ? `${node} has no free port left.` : `Port ${wanted} is taken.`;
  throw new Problem('no_capacity', lack);
}

function requirePort(ports: readonly ServerPortRow[], at: PortCall['params']): ServerPortRow {
  const found = ports.find(({ ip, port }) => ip === at.address && port === at.port);
  if (found !== undefined) return found;
  throw new Problem('not_found', `The server has no port ${at.port} at ${at.address}.`);
}

function requireAdded(ports: readonly ServerPortRow[], at: PortCall['params']): ServerPortRow {
  const found = requirePort(ports, at);
  if (found.added) return found;
  throw conflict(`${at.address} port ${at.port} was given by the operator, who alone changes it.`);
}

/** Names are unique on a server, and the first port has a name already. */
function requireFreeName(
  ports: readonly ServerPortRow[],
  name: string | null,
  of: PortPlace | null,
): void {
  if (name === null) return;
  if (name === 'primary') throw invalidField('/name', 'The first port is called primary anyway.');
  const other = ports.find(
    (one) => one.name === name && !(one.ip === of?.ip && one.port === of.port),
  );
  if (other === undefined) return;
  throw conflict(`${other.ip} port ${other.port} is called ${name} already.`, '/name');
}
