import { randomUUID } from 'node:crypto';
import type { BodyOf } from '@portcullis/contract/operation-types.ts';
import { sql } from 'kysely';
import { operatorActor, recordAudit } from '../access/index.ts';
import type { Tx } from '../db/database.ts';
import {
  changeGameServer,
  createGameServer,
  type CurrentGameServer,
  deleteGameServer,
  type GameServerContent,
  loadGameServers,
  sweepEggs,
} from '../declared/game-servers.ts';
import { parsePart } from '../fleet-file/part.ts';
import { parseGameServer, type ServerText } from '../fleet-file/parse/game-servers.ts';
import { differenceOf } from '../fleet-file/plan/game-servers.ts';
import {
  type EggFile,
  type EggSource,
  loadLibraryEgg,
  parseEggDocument,
} from '../fleet-file/read/egg-files.ts';
import { findClosedPorts } from '../firewall/index.ts';
import type { Batch } from '../fleet/batch.ts';
import { loadSourceSets } from '../fleet/index.ts';
import { reinstallServer } from '../game-servers/index.ts';
import type { CallOf, Handlers } from '../http/operations/handlers.ts';
import { notSeen } from '../http/operations/not-found.ts';
import type { Answer, OperatorCall } from '../http/operations/operation.ts';
import { conflict, invalidField, Problem } from '../problem.ts';
import { operate } from '../operator/index.ts';
import { requireOrganisation } from './organisation-write.ts';
import { placeServer, requireFreePorts } from './places.ts';
import { findService } from './store.ts';
import { storedEgg } from './stored-egg.ts';
import { operatedServerView } from './views.ts';

type Names =
  | 'listOperatedServers'
  | 'readOperatedServer'
  | 'createServer'
  | 'changeServer'
  | 'deleteServer'
  | 'suspendServer'
  | 'unsuspendServer'
  | 'reinstallServer';

/** Game servers as an operator makes and changes them: by the rules of the fleet file, one at a time. */
export function createServerHandlers(eggs: EggSource): Pick<Handlers, Names> {
  return {
    async listOperatedServers({ query }, db) {
      const { organisation, external_id: externalId, node } = query;
      const servers = await loadGameServers(db, { organisation, externalId, node });
      const data = servers.map(operatedServerView);
      return { status: 200, body: { data } };
    },
    async readOperatedServer({ params: { slice: uuid } }, db) {
      const servers = await loadGameServers(db, { uuid });
      if (servers.length === 0) throw notSeen();
      return { status: 200, body: { data: servers.map(operatedServerView) } };
    },
    createServer: (call, tx) => operate(tx, (batch) => create(call, batch, eggs)),
    changeServer: (call, tx) => writeServer(call, tx, (written) => change(call, written, eggs)),
    deleteServer: (call, tx) =>
      writeServer(call, tx, async ({ batch, row }) => {
        await deleteGameServer(batch, row.uuid);
        await sweepEggs(tx);
        return 'server.delete';
      }),
    suspendServer: (call, tx) => writeServer(call, tx, (written) => suspend(written, true)),
    unsuspendServer: (call, tx) => writeServer(call, tx, (written) => suspend(written, false)),
    reinstallServer: (call, tx) =>
      writeServer(call, tx, async ({ row }) => {
        // Audited by itself, as for an organisation.
        await reinstallServer(tx, row.uuid, operatorActor(call));
        return null;
      }),
  };
}

interface Written {
  readonly batch: Batch;
  readonly row: CurrentGameServer;
}

/** A change of the server of the path; `change` returns what it was, for the audit trail, or null for nothing. */
async function writeServer(
  call: OperatorCall<{ readonly slice: string }>,
  tx: Tx,
  change: (written: Written) => Promise<string | null>,
): Promise<Answer> {
  return operate(tx, async (batch) => {
    const [row] = await loadGameServers(tx, { uuid: call.params.slice });
    if (row === undefined) throw notSeen();
    batch.requireOwn(row.owner, `The server ${row.name}`);
    const action = await change({ batch, row });
    return finishWrite(call, batch, { action, uuid: row.uuid, organisationId: row.organisationId });
  });
}

type Landed = Pick<CurrentGameServer, 'uuid' | 'organisationId'> & {
  readonly action: string | null;
};

async function finishWrite(
  call: OperatorCall,
  batch: Batch,
  { action, uuid, organisationId }: Landed,
): Promise<Answer> {
  const { tx } = batch;
  const generation = await batch.takeGeneration(action ?? 'server.change');
  if (action !== null) {
    await recordAudit(tx, {
      actor: operatorActor(call),
      organisationId,
      action,
      target: `server:${uuid}`,
      // Values of variables may be passwords of a game.
      detail: { ...Object(call.body), variables: undefined, egg_document: undefined },
      generation,
    });
  }
  const headers = generation === null ? {} : { 'portcullis-generation': String(generation) };
  const servers = await loadGameServers(tx, { uuid });
  const data = action === 'server.delete' ? { done: true } : servers.map(operatedServerView);
  const makes = action === 'server.create' || action === 'server.change';
  const notes = makes ? await explainClosedPorts(tx, servers) : [];
  const body = notes.length === 0 ? { data } : { data, message: notes.join(' ') };
  return { status: action === 'server.create' ? 201 : 200, body, headers };
}

/** Ports of servers that players cannot reach, also while the server runs. */
async function explainClosedPorts(
  tx: Tx,
  servers: readonly CurrentGameServer[],
): Promise<string[]> {
  const ports = servers.flatMap((server) => shutPorts(server));
  const closed = await findClosedPorts({ loadSourceSets }, tx, ports);
  return closed.map(
    ({ ip, port, protocol, explanation }) =>
      `Players cannot reach ${protocol} ${port} of ${ip}. ${explanation} Let it be open while the server runs (open_while_running), or allow it by a rule.`,
  );
}

/** Ports that the server does not open while it runs. */
function shutPorts(server: CurrentGameServer) {
  const { ip, port, ports, eggProtocols, openWhileRunning, openPorts } = server;
  if (openWhileRunning && openPorts === null) return [];
  const all = ports.length > 0 ? ports : [{ ip, port, protocols: eggProtocols, name: null }];
  return all
    .filter(({ name }) => !openWhileRunning || name === null || openPorts?.includes(name) !== true)
    .flatMap((one) =>
      one.protocols.map((protocol) => ({
        ip: one.ip,
        port: one.port,
        protocol: protocol === 'tcp' ? ('tcp' as const) : ('udp' as const),
      })),
    );
}

async function create(
  call: CallOf<'createServer'>,
  batch: Batch,
  eggs: EggSource,
): Promise<Answer> {
  const { tx } = batch;
  const { body } = call;
  const { id: organisationId, slug } = await requireOrganisation(tx, body.organisation);
  const externalId = body.external_id ?? null;
  const [same] =
    externalId === null ? [] : await loadGameServers(tx, { organisation: slug, externalId });
  if (same !== undefined) return answerSame(call, { batch, row: same }, eggs);
  await requireService(tx, organisationId, body.service_id);
  const named = { ...body, egg: eggNameOf(body) };
  const egg = await eggOf(named, eggs);
  const place = await placeServer(tx, body, egg.ok ? egg.found.egg : null);
  const uuid = randomUUID();
  // What a file requires, the schema of the body does too.
  const text = { ...serverText(named), ...place, uuid } as ServerText;
  const content = await contentOf(text, egg, eggs);
  await requireFreePorts(tx, content);
  await createGameServer(batch, content, organisationId);
  await setExternalId(tx, uuid, externalId);
  return finishWrite(call, batch, { action: 'server.create', uuid, organisationId });
}

/** A repetition without its Idempotency-Key, perhaps days later. */
async function answerSame(
  call: CallOf<'createServer'>,
  { batch, row }: Written,
  eggs: EggSource,
): Promise<Answer> {
  const wanted = await merged(row, call.body, eggs, batch.tx);
  const { words } = differenceOf(row, wanted);
  if (words !== '') {
    const detail = `The server ${row.uuid} has this external id and differs: ${words}. Change it instead.`;
    throw conflict(detail, '/external_id');
  }
  return { status: 201, body: { data: [operatedServerView(row)] } };
}

async function change(
  call: CallOf<'changeServer'>,
  { batch, row }: Written,
  eggs: EggSource,
): Promise<string> {
  const { tx } = batch;
  const { body } = call;
  if (body.service_id !== undefined) {
    await requireService(tx, row.organisationId, body.service_id);
  }
  if (body.external_id !== undefined) await setExternalId(tx, row.uuid, body.external_id);
  const wanted = await merged(row, body, eggs, tx);
  const { words, move } = differenceOf(row, wanted);
  if (move.rebuild && row.provisioned && body.allow_losses !== true) {
    const detail = `${row.name} would be built anew on ${wanted.node}, without its files: those stay on ${row.node}.`;
    throw new Problem('live_objects', detail);
  }
  if (words !== '') {
    const { memory, disk } = wanted.limits;
    // What it has already is its own on the node that it stays on.
    const own = move.rebuild ? { memory: 0, disk: 0 } : row;
    await placeServer(
      tx,
      {
        node: wanted.node,
        limits: { memory: memory - own.memory, disk: disk - own.disk },
        allocations: [wanted],
      },
      null,
    );
    await requireFreePorts(tx, wanted);
    await changeGameServer(batch, wanted, move);
    await sweepEggs(tx);
  }
  return 'server.change';
}

async function suspend({ batch, row }: Written, suspended: boolean): Promise<string | null> {
  if (row.suspended === suspended) return null;
  const stored = await storedEgg(batch.tx, row);
  const content = await contentOf({ ...textOf(row), suspended }, stored, null);
  await changeGameServer(batch, content, { rebuild: false, moved: false });
  return suspended ? 'server.suspend' : 'server.unsuspend';
}

type Settings = BodyOf<'changeServer'>;

const EGG_NAME_LENGTH = 200;

/** Fields of bodies only. */
const NOT_OF_A_FILE = new Set(['organisation', 'external_id', 'egg_document', 'allow_losses']);

/** The fields that a body gives, in the spelling of the fleet file. */
function serverText({ service_id: service, ...body }: Settings): Partial<ServerText> {
  const given = Object.entries({ service, ...body }).filter(
    ([name, value]) => value !== undefined && value !== null && !NOT_OF_A_FILE.has(name),
  );
  return Object.fromEntries(given);
}

/** A stored server in the spelling of the fleet file. */
function textOf(row: CurrentGameServer): ServerText {
  const { uuid, serviceId: service, name, node, eggName: egg, image, variables } = row;
  const { memory, cpu, disk, ip, port, ports, openWhileRunning, openPorts, suspended } = row;
  return {
    uuid,
    service,
    name,
    node,
    egg,
    variables,
    limits: { memory, cpu, disk },
    ...(image !== null && { image }),
    ...(ports.length === 0
      ? { allocation: { ip, port } }
      : {
          allocations: ports.map(({ variable, name: called, protocols, ...at }) => ({
            ...at,
            protocols: [...protocols],
            ...(variable !== null && { variable }),
            ...(called !== null && { name: called }),
          })),
        }),
    open_while_running: openPorts === null ? openWhileRunning : [...openPorts],
    suspended,
    crashes: { restart: row.crashRestart, within_seconds: row.crashWithinMs / 1_000 },
  };
}

async function merged(
  row: CurrentGameServer,
  body: Settings,
  eggs: EggSource,
  tx: Tx,
): Promise<GameServerContent> {
  const { image, allocation, ...before } = textOf(row);
  const text = {
    ...before,
    ...(body.image === undefined && image !== undefined && { image }),
    ...(body.allocations === undefined && allocation !== undefined && { allocation }),
    ...serverText(body),
  };
  const isNew = body.egg_document !== undefined || (body.egg ?? row.eggName) !== row.eggName;
  const egg = isNew ? await eggOf({ ...body, egg: text.egg }, eggs) : await storedEgg(tx, row);
  return contentOf(text, egg, eggs);
}

async function contentOf(
  text: ServerText,
  egg: EggFile,
  source: EggSource | null,
): Promise<GameServerContent> {
  const eggs = { eggs: new Map([[text.egg, egg]]), compile: source?.compile ?? null };
  return parsePart(text, (scope) => parseGameServer(text, eggs, scope));
}

/** A document has a name of its own. */
function eggNameOf({ egg, egg_document: document }: Settings): string {
  if (egg !== undefined) return egg;
  const { name } = Object(document) as { readonly name?: unknown };
  if (typeof name === 'string' && name.trim() !== '') return name.trim().slice(0, EGG_NAME_LENGTH);
  throw invalidField('/egg', 'A server needs an egg: a name of the library, or egg_document.');
}

async function eggOf(
  { egg, egg_document: document }: Pick<Settings, 'egg_document'> & { readonly egg: string },
  source: EggSource,
): Promise<EggFile> {
  return document === undefined ? loadLibraryEgg(egg, source) : parseEggDocument(document, source);
}

async function requireService(tx: Tx, organisationId: number, id: number): Promise<void> {
  const found = await findService(tx, id);
  if (found?.organisationId === organisationId) return;
  throw conflict(`The organisation has no service ${id}: make it first.`, '/service_id');
}

async function setExternalId(tx: Tx, uuid: string, externalId: string | null): Promise<void> {
  await sql`update game_servers set external_id = ${externalId} where uuid = ${uuid}`.execute(tx);
}
