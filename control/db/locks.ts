import { type RawBuilder, sql } from 'kysely';
import type { Tx } from './database.ts';

/**
 * Locks that writers lock, in the one order in which every transaction takes its locks. Two transactions that lock in
 * one order never wait for each other both ways, so nothing is rolled back as a deadlock after a second in which all
 * others wait.
 *
 * Before all of these stand the rights of the caller (its key, session or membership) and the lock of an Idempotency-Key,
 * which its transaction takes first. Rows that only one of these guards (a group's rules, an address's filters) need no
 * place of their own.
 */
const ORDER = [
  /** An advisory lock: fleet files, and operators who write organisations and holdings. */
  'installation',
  'edges',
  /** Each heartbeat locks its node first, then its servers. */
  'nodes',
  'game_servers',
  'groups',
  'geo_rules',
  'holdings',
  'addresses',
  'organisations',
  'blocked_sources',
  /** The generation: held by one writer of all, so last. */
  'fleet',
] as const;

export type LockKind = (typeof ORDER)[number];

/** Strongest last. `no key update` lets rows that refer to the locked one be inserted. */
const STRENGTHS = ['share', 'no key update', 'update'] as const;
type Strength = (typeof STRENGTHS)[number];

/** A transaction took a lock before one that stands earlier in the order: a mistake of ours, which can deadlock. */
export class LockOrderError extends Error {
  override readonly name = 'LockOrderError';
}

interface Held {
  last: LockKind;
  readonly rows: Map<string, number>;
  inAnyOrder: boolean;
}

const held = new WeakMap<Tx, Held>();

/** Locks rows by id (of game servers by uuid) in their order until the end of the transaction. */
export async function lockRows(
  tx: Tx,
  kind: Exclude<LockKind, 'installation' | 'fleet'>,
  ids: readonly (number | string)[],
  strength: Strength,
): Promise<void> {
  const [key, type] = kind === 'game_servers' ? ['uuid', 'uuid[]'] : ['id', 'bigint[]'];
  const wanted = [...new Set(ids)];
  noteLock(tx, kind, strength, wanted);
  if (wanted.length === 0) return;
  await sql`
    select from ${sql.table(kind)} where ${sql.ref(key ?? 'id')} = any(${wanted}::${sql.raw(type ?? '')})
     order by ${sql.ref(key ?? 'id')} ${lockClause(strength)}`.execute(tx);
}

/** For a statement that reads what it locks; it must order by id, and be noted. */
export function lockClause(strength: Strength): RawBuilder<unknown> {
  return sql.raw(`for ${strength}`);
}

/**
 * Notes a lock that a statement of the caller takes. Throws `LockOrderError` for one out of order, and for a stronger
 * one of rows that are locked.
 */
export function noteLock(
  tx: Tx,
  kind: LockKind,
  strength: Strength = 'update',
  ids: readonly (number | string)[] = [],
): void {
  const known = held.get(tx) ?? { last: kind, rows: new Map(), inAnyOrder: false };
  held.set(tx, known);
  if (known.inAnyOrder) return;
  const rank = STRENGTHS.indexOf(strength);
  const names = ids.map((id) => `${kind} ${id}`);
  const isKnown = names.length > 0 && names.every((name) => (known.rows.get(name) ?? -1) >= rank);
  if (isKnown) return;
  if (ORDER.indexOf(kind) < ORDER.indexOf(known.last)) {
    throw new LockOrderError(`${kind} are locked after ${known.last}`);
  }
  if (names.some((name) => known.rows.has(name))) {
    throw new LockOrderError(`a lock of ${kind} becomes stronger`);
  }
  known.last = kind;
  for (const name of names) known.rows.set(name, rank);
}

const INSTALLATION = 0x706f7274;

/** Serialises writes to organisations, ASNs, services and holdings: of fleet files and of operators. */
export async function lockInstallation(tx: Tx): Promise<void> {
  noteLock(tx, 'installation', 'update', [INSTALLATION]);
  await sql`select pg_advisory_xact_lock(${INSTALLATION})`.execute(tx);
}

/**
 * For a fleet file, whose steps lock what they change as they come: locks all rows that writers lock first, in the order,
 * so that no other writer has anything that a step waits for. Further locks may come in any order then.
 */
export async function lockEverything(tx: Tx): Promise<void> {
  await lockInstallation(tx);
  for (const kind of ['nodes', 'game_servers', 'groups', 'geo_rules', 'holdings'] as const) {
    const key = kind === 'game_servers' ? 'uuid' : 'id';
    noteLock(tx, kind, 'no key update');
    await sql`
      select from ${sql.table(kind)} order by ${sql.ref(key)} ${lockClause('no key update')}`.execute(
      tx,
    );
  }
  noteLock(tx, 'organisations', 'no key update');
  await sql`select from organisations order by id ${lockClause('no key update')}`.execute(tx);
  const known = held.get(tx);
  if (known !== undefined) known.inAnyOrder = true;
}
