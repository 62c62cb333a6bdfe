import type { Db } from '@portcullis/control/db/database.ts';
import { withUrl } from '../database.ts';
import { failed } from '../exit.ts';
import { applyFleetFile } from '../fleet-file.ts';
import type { UpOptions } from '../program/up.ts';
import { enrolHere } from './enrol-here.ts';
import type { FirstServer } from './first-server.ts';
import { makeFirstStart } from './first-start.ts';
import { readHostNetwork } from './host-network.ts';
import { LOCAL_EDGE, LOCAL_NODE } from './local-names.ts';

/** What stands in the database for this start. */
export interface PreparedFleet {
  /** The edge that this machine is; null when the fleet names none. */
  readonly edge: string | null;
  /** The node that it is, with its credential; null likewise. */
  readonly node: { readonly name: string; readonly credential: string } | null;
  /** Keys that were made now; nobody can see them again. */
  readonly keys: readonly {
    readonly name: string;
    readonly organisation: string;
    readonly key: string;
  }[];
  /** Addresses to try a first call on. */
  readonly addresses: readonly string[];
  /** The server that was made now, and is yet to be started. */
  readonly server: FirstServer | null;
}

type Found = Omit<PreparedFleet, 'node'> & { readonly node: string | null };

/** Applies the fleet file, or makes what a first start needs. The node of this machine gets what control knows it by. */
export function prepareFleet(
  databaseUrl: string,
  options: UpOptions,
  credentialFile: string,
): Promise<PreparedFleet> {
  return withUrl(databaseUrl, async (db) => {
    const found =
      options.fleet === undefined ? await firstStart(db) : await applyFile(db, options.fleet);
    const edge = options.edge ?? found.edge;
    const node = options.node ?? found.node;
    if (edge !== null) await requireNamed(db, 'edge', edge);
    if (node === null) return { ...found, edge, node };
    await requireNamed(db, 'node', node);
    const credential = await enrolHere(db, node, credentialFile);
    return { ...found, edge, node: { name: node, credential } };
  });
}

async function applyFile(db: Db, file: string): Promise<Found> {
  const applied = await applyFleetFile(db, file, false);
  return {
    edge: applied.edges[0] ?? null,
    node: applied.nodes[0] ?? null,
    keys: applied.createdKeys,
    addresses: await someAddresses(db),
    server: null,
  };
}

async function firstStart(db: Db): Promise<Found> {
  const made = await makeFirstStart(db, readHostNetwork());
  if (made !== null) {
    const { organisation, secret, addresses, server } = made;
    const keys = [{ name: 'first', organisation, key: secret }];
    return { edge: LOCAL_EDGE, node: LOCAL_NODE, keys, addresses, server };
  }
  const edge = await pick(db, 'edge', LOCAL_EDGE);
  const node = await pick(db, 'node', LOCAL_NODE);
  return { edge, node, keys: [], addresses: [], server: null };
}

/** The one that a first start made, else the first there is. */
async function pick(db: Db, kind: 'edge' | 'node', liked: string): Promise<string | null> {
  const names = await namesOf(db, kind);
  return names.includes(liked) ? liked : (names[0] ?? null);
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

/** The network address of a few holdings: an address that a key of the file may well read. */
async function someAddresses(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('holdings')
    .select('cidr')
    .where('service_id', 'is not', null)
    .orderBy('id')
    .limit(3)
    .execute();
  return rows.map(({ cidr }) => cidr.replace(/\/(?:32|128)$/, ''));
}
