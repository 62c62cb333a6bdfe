import type { ApplyProgress } from '@portcullis/control/operator/fleet-file/apply/apply.ts';
import type { Db } from '@portcullis/control/db/database.ts';
import type { FleetFile } from '@portcullis/control/operator/fleet-file/desired.ts';
import { admitAgent, enrolAgent } from '@portcullis/control/agent-credential.ts';
import { credentialFile, readCredential, saveCredential } from '../agents/credential-file.ts';
import { operator, withUrl } from '../database.ts';
import { failed } from '@portcullis/caller/exit.ts';
import { applyFleetFile } from '../fleet-file.ts';
import { LOCAL_NAME } from '../options.ts';
import { warn } from '@portcullis/caller/output.ts';
import { describeUnseenKeys, FIRST_KEY, replaceFirstKey, type UnseenKeys } from './first-key.ts';
import type { FirstServer } from './first-server.ts';
import { createFirstStart } from './first-start.ts';
import { readHostNetwork } from './host-network.ts';

/** Options that select what this machine runs of the fleet. */
export interface FleetOptions {
  readonly fleet?: string;
  readonly edge?: string;
  readonly node?: string;
}

/** An agent of this machine. */
export interface Enrolled {
  readonly name: string;
  readonly credential: string;
}

/** The parts of the fleet that this machine runs. */
export interface PreparedFleet {
  /** The edge of this machine; null if the fleet has none. */
  readonly edge: Enrolled | null;
  /** The node of this machine; null if the fleet has none. */
  readonly node: Enrolled | null;
  /** Keys that were created now; their secrets cannot be read again. */
  readonly keys: readonly {
    readonly name: string;
    readonly organisation: string;
    readonly key: string;
  }[];
  /** Addresses to try a first call on. */
  readonly addresses: readonly string[];
  /** The server that was created now and is not started yet. */
  readonly server: FirstServer | null;
}

const PROGRESS_EVERY_MS = 2_000;
/** The clock of a database on another host may be behind by this much. */
const CLOCK_MARGIN_MS = 60_000;

type Found = Omit<PreparedFleet, 'edge' | 'node'> & {
  readonly edge: string | null;
  readonly node: string | null;
};

export interface FleetToPrepare {
  readonly options: FleetOptions;
  readonly file: FleetFile | null;
  readonly dataDir: string;
  readonly unseen: UnseenKeys;
  /** Shows new keys; called as soon as they are committed. */
  readonly show: (keys: PreparedFleet['keys']) => void;
}

/** Applies the fleet file, or creates the fleet of a first start. Enrols the agents of this machine. */
export function prepareFleet(
  databaseUrl: string,
  { options, file, dataDir, unseen, show }: FleetToPrepare,
): Promise<PreparedFleet> {
  return withUrl(databaseUrl, async (db) => {
    await tellUnseen(db, unseen, dataDir);
    const found =
      file === null ? await firstStart(db, unseen) : await applyFile(db, file, { unseen, dataDir });
    if (found.keys.length > 0) show(found.keys);
    const edge = options.edge ?? found.edge;
    const node = options.node ?? found.node;
    return {
      ...found,
      edge: edge === null ? null : await enrolHere(db, { kind: 'edge', name: edge }, dataDir),
      node: node === null ? null : await enrolHere(db, { kind: 'node', name: node }, dataDir),
    };
  });
}

/** Returns the saved credential while control accepts it, else enrols the agent again. */
async function enrolHere(
  db: Db,
  agent: { readonly kind: 'edge' | 'node'; readonly name: string },
  dataDir: string,
): Promise<Enrolled> {
  const { kind, name } = agent;
  await requireNamed(db, kind, name);
  const file = credentialFile(dataDir, kind);
  const saved = readCredential(file);
  if (saved !== null && (await admitAgent(db, agent, saved)).ok) return { name, credential: saved };
  const credential = await db.transaction().execute((tx) => enrolAgent(tx, agent, operator()));
  if (credential === null) throw failed(`the fleet has no ${kind} ${name}`);
  saveCredential(file, credential);
  return { name, credential };
}

/** Keys of a fleet file that an interrupted start made: the file owns them, so they are named and not replaced. */
async function tellUnseen(db: Db, unseen: UnseenKeys, dataDir: string): Promise<void> {
  const since = unseen.fleetSince;
  if (since === null) return;
  for (const line of await describeUnseenKeys(db, since, dataDir)) warn(line);
}

async function applyFile(
  db: Db,
  file: FleetFile,
  { unseen, dataDir }: Pick<FleetToPrepare, 'unseen' | 'dataDir'>,
): Promise<Found> {
  unseen.expectFleet(new Date(Date.now() - CLOCK_MARGIN_MS));
  const applied = await applyFleetFile(db, file, {
    dataDir,
    allowLosses: false,
    onProgress: logProgress(file.path),
  });
  return {
    edge: applied.edges[0] ?? null,
    node: applied.nodes[0] ?? null,
    keys: [...(await replacedKeys(db, unseen)), ...applied.createdKeys],
    addresses: await exampleAddresses(db),
    server: null,
  };
}

/** Prints a line every few seconds, so that the log of a long start says what it waits for. */
function logProgress(file: string): (progress: ApplyProgress) => void {
  const startMs = performance.now();
  let saidMs = startMs;
  return ({ done, total }) => {
    const nowMs = performance.now();
    if (nowMs - saidMs < PROGRESS_EVERY_MS) return;
    saidMs = nowMs;
    const seconds = Math.round((nowMs - startMs) / 1000);
    process.stderr.write(`${file}: ${done} of ${total} changes applied after ${seconds} s\n`);
  };
}

async function firstStart(db: Db, unseen: UnseenKeys): Promise<Found> {
  const wasUnseen = unseen.isFirstUnseen;
  unseen.expectFirst();
  const created = await createFirstStart(db, readHostNetwork());
  if (created !== null) {
    const { organisation, secret, addresses, server } = created;
    const keys = [{ name: FIRST_KEY, organisation, key: secret }];
    return { edge: LOCAL_NAME, node: LOCAL_NAME, keys, addresses, server };
  }
  const keys = wasUnseen ? await replacedKeys(db, unseen) : [];
  const edge = await findLocal(db, 'edge');
  const node = await findLocal(db, 'node');
  return { edge, node, keys, addresses: [], server: null };
}

/** Another first key, if an interrupted start left one that nobody saw. */
async function replacedKeys(db: Db, unseen: UnseenKeys): Promise<PreparedFleet['keys']> {
  const secret = unseen.isFirstUnseen ? await replaceFirstKey(db) : null;
  return secret === null ? [] : [{ name: FIRST_KEY, organisation: 'default', key: secret }];
}

/** The name from the first start, else the first name in the fleet. */
async function findLocal(db: Db, kind: 'edge' | 'node'): Promise<string | null> {
  const names = await namesOf(db, kind);
  return names.includes(LOCAL_NAME) ? LOCAL_NAME : (names[0] ?? null);
}

async function requireNamed(db: Db, kind: 'edge' | 'node', name: string): Promise<void> {
  const names = await namesOf(db, kind);
  if (names.includes(name)) return;
  throw failed(`the fleet has no ${kind} ${name}; it has: ${names.join(', ') || 'none'}`);
}

async function namesOf(db: Db, kind: 'edge' | 'node'): Promise<string[]> {
  const table = kind === 'edge' ? 'edges' : 'nodes';
  const rows = await db.selectFrom(table).select('name').orderBy('id').execute();
  return rows.map(({ name }) => name);
}

/** The network addresses of a few holdings, as examples that a key of the file can probably read. */
async function exampleAddresses(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('holdings')
    .select('cidr')
    .where('service_id', 'is not', null)
    .orderBy('id')
    .limit(3)
    .execute();
  return rows.map(({ cidr }) => cidr.replace(/\/(?:32|128)$/, ''));
}
