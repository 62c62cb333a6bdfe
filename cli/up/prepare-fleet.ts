import type { Db } from '@portcullis/control/db/database.ts';
import { withUrl } from '../database.ts';
import { failed } from '../exit.ts';
import { applyFleetFile } from '../fleet-file.ts';
import type { UpOptions } from '../program/up.ts';
import { makeFirstStart } from './first-start.ts';
import { readHostNetwork } from './host-network.ts';
import { LOCAL_EDGE } from './local-edge.ts';

/** What stands in the database for this start. */
export interface PreparedFleet {
  /** The edge that this machine is; null when the fleet names none. */
  readonly edge: string | null;
  /** Keys that were made now; nobody can see them again. */
  readonly keys: readonly {
    readonly name: string;
    readonly organisation: string;
    readonly key: string;
  }[];
  /** Addresses to try a first call on. */
  readonly addresses: readonly string[];
}

/** Applies the fleet file, or makes what a first start needs. */
export function prepareFleet(databaseUrl: string, options: UpOptions): Promise<PreparedFleet> {
  return withUrl(databaseUrl, async (db) => {
    const prepared =
      options.fleet === undefined ? await firstStart(db) : await applyFile(db, options.fleet);
    const edge = options.edge ?? prepared.edge;
    if (edge !== null) await requireEdge(db, edge);
    return { ...prepared, edge };
  });
}

async function applyFile(db: Db, file: string): Promise<PreparedFleet> {
  const applied = await applyFleetFile(db, file, false);
  return {
    edge: applied.edges[0] ?? null,
    keys: applied.createdKeys,
    addresses: await someAddresses(db),
  };
}

async function firstStart(db: Db): Promise<PreparedFleet> {
  const made = await makeFirstStart(db, readHostNetwork());
  if (made !== null) {
    const { organisation, secret, addresses } = made;
    return { edge: LOCAL_EDGE, keys: [{ name: 'first', organisation, key: secret }], addresses };
  }
  const local = await db.selectFrom('edges').select('name').orderBy('id').execute();
  const names = local.map(({ name }) => name);
  const edge = names.includes(LOCAL_EDGE) ? LOCAL_EDGE : (names[0] ?? null);
  return { edge, keys: [], addresses: [] };
}

async function requireEdge(db: Db, name: string): Promise<void> {
  const edges = await db.selectFrom('edges').select('name').orderBy('id').execute();
  if (edges.some((edge) => edge.name === name)) return;
  const known = edges.map((edge) => edge.name).join(', ') || 'none';
  throw failed(`the fleet has no edge ${name}; it has: ${known}`);
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
