import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { Row } from '@portcullis/contract/endpoint.ts';
import { ENDPOINTS, V1_PREFIX } from '@portcullis/contract/endpoints.ts';
import { OPERATOR_ENDPOINTS, OPERATOR_PREFIX } from '@portcullis/contract/operator-endpoints.ts';
import { PORTAL_ENDPOINTS, PORTAL_PREFIX } from '@portcullis/contract/portal-endpoints.ts';
import { X1_ENDPOINTS, X1_PREFIX } from '@portcullis/contract/x1-endpoints.ts';
import { createKey, hashSecret, hashToken } from '@portcullis/control/access/index.ts';
import { SAME_SITE } from '@portcullis/control/accounts/testing.ts';
import type { Db } from '@portcullis/control/db/database.ts';
import { ACME, ALL_ABILITIES } from '@portcullis/control/testing/fixture.ts';
import { digestOf, type LateBodies, startWithLateBodies } from './late-body.ts';

const ACTOR = { kind: 'system', name: 'test', source: null, requestId: null } as const;

interface Entry {
  readonly prefix: string;
  readonly row: Row;
}

/**
 * Rows that write, and rows that read by a body: whatever comes later than the head. Streams of bytes begin with the head and
 * end with the right (lab/hostile/files/streams.test.ts).
 */
const isLate = ({ row }: Entry): boolean =>
  (row.write !== false || row.body !== undefined) && row.takesBytes !== true;
const rowsOf = (prefix: string, rows: readonly Row[]): Entry[] =>
  rows.map((row) => ({ prefix, row })).filter(isLate);
const roleOf = ({ row }: Entry): string => String(Reflect.get(row, 'role'));

const BELOW = `${PORTAL_PREFIX}/organisations/{organisation}`;
const PORTAL = rowsOf(PORTAL_PREFIX, PORTAL_ENDPOINTS).filter(
  (entry) => roleOf(entry) !== 'anyone',
);
const OF_KEYS = [...rowsOf(V1_PREFIX, ENDPOINTS), ...rowsOf(X1_PREFIX, X1_ENDPOINTS)];
const OF_OPERATOR_KEYS = rowsOf(OPERATOR_PREFIX, OPERATOR_ENDPOINTS);
const OF_MEMBERS = [
  ...PORTAL.filter(({ row }) => row.path.startsWith('/organisations/')),
  ...rowsOf(`${BELOW}/v1`, ENDPOINTS),
  ...rowsOf(`${BELOW}/x1`, X1_ENDPOINTS),
];
const OF_PEOPLE = PORTAL.filter((entry) => roleOf(entry) === 'user');
const OF_OPERATORS = [
  ...PORTAL.filter((entry) => roleOf(entry) === 'operator'),
  ...rowsOf(`${PORTAL_PREFIX}/operator`, OPERATOR_ENDPOINTS),
];

/** A caller that is admitted, and how to take its right away. */
interface Holder {
  readonly headers: Readonly<Record<string, string>>;
  readonly id: number;
}

interface Ending {
  readonly name: string;
  readonly status: number;
  end(db: Db, id: number): Promise<unknown>;
}

const update = (name: string, status: number, statement: (id: number) => ReturnType<typeof sql>) =>
  ({ name, status, end: (db, id) => statement(id).execute(db) }) satisfies Ending;

const ENDINGS_OF_KEYS: readonly Ending[] = [
  update('revoked', 401, (id) => sql`update api_keys set revoked_at = now() where id = ${id}`),
  update('suspended', 401, (id) => sql`update api_keys set suspended_at = now() where id = ${id}`),
  update('expired', 401, (id) => sql`update api_keys set expires_at = now() where id = ${id}`),
  update('rotated', 401, (id) => {
    const hash = hashSecret(`another secret of ${id}`);
    return sql`update api_keys set secret_hash = ${hash} where id = ${id}`;
  }),
  update('bound to another source', 401, (id) => {
    return sql`update api_keys set sources = '{198.51.100.0/24}' where id = ${id}`;
  }),
  update('without its ability', 403, (id) => {
    return sql`update api_keys set abilities = '{}' where id = ${id}`;
  }),
];

const ENDINGS_OF_PEOPLE: readonly Ending[] = [
  update('signed out', 401, (id) => sql`delete from sessions where person_id = ${id}`),
  update('disabled', 401, (id) => sql`update people set disabled_at = now() where id = ${id}`),
];

const ENDINGS_OF_MEMBERS: readonly Ending[] = [
  ...ENDINGS_OF_PEOPLE,
  update('removed', 404, (id) => sql`delete from members where person_id = ${id}`),
  update('demoted', 403, (id) => {
    return sql`update members set role = 'read-only' where person_id = ${id}`;
  }),
];

const ENDINGS_OF_OPERATORS: readonly Ending[] = [
  ...ENDINGS_OF_PEOPLE,
  update('demoted', 403, (id) => sql`update people set is_operator = false where id = ${id}`),
];

async function newKey(db: Db, organisationId: number | null): Promise<Holder> {
  const abilities = organisationId === null ? ['operator.read', 'operator.manage'] : ALL_ABILITIES;
  const wanted = { organisationId, name: 'late', abilities, owner: 'portal' } as const;
  const { id, secret } = await db.transaction().execute((tx) => createKey(tx, wanted, ACTOR));
  return { id, headers: { authorization: `Bearer ${secret}` } };
}

let people = 0;

/** `role`: in acme; null: an operator. */
async function newPerson(db: Db, role: 'owner' | null): Promise<Holder> {
  const token = `late${++people}`.padEnd(43, '-');
  const { rows } = await sql<{ id: number }>`
    with p as (
      insert into people (email, name, password_hash, is_operator)
      values (${`late${people}@example.net`}, 'Late', '', ${role === null}) returning id
    ), m as (
      insert into members (organisation_id, person_id, role) select ${ACME}, id, ${role} from p where ${role !== null}
    )
    insert into sessions (token_hash, person_id, expires_at)
    select ${hashToken(token)}, id, now() + interval '1 day' from p returning person_id as id`.execute(
    db,
  );
  const headers = { cookie: `__Host-portcullis=${token}`, ...SAME_SITE };
  return { id: rows[0]?.id ?? assert.fail(), headers };
}

function pathOf({ prefix, row }: Entry): string {
  const slice = '00000000-0000-4000-8000-000000000000';
  const values: Record<string, string> = {
    organisation: 'acme',
    ip: '203.0.113.1',
    slice,
    uuid: slice,
    address: '203.0.113.1',
    port: '25565',
  };
  return (prefix + row.path).replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '999999');
}

/** The tables of the holders, and those that the first check of a request notes. */
const OWN = ['api_keys', 'people', 'members', 'sessions', 'sign_in_attempts', 'audit'];

/** Sends the head of each row, ends the right in each way, and then sends the body. */
async function tryAll(
  environment: LateBodies,
  entries: readonly Entry[],
  endings: readonly Ending[],
  make: (db: Db) => Promise<Holder>,
): Promise<void> {
  const { db, open } = environment;
  assert.ok(entries.length > 0);
  const before = await digestOf(db, OWN);
  for (const entry of entries) {
    for (const ending of endings) {
      const holder = await make(db);
      const request = await open(entry.row.method, pathOf(entry), holder.headers, 2);
      await ending.end(db, holder.id);
      const { status, text } = await request.send('{}');
      const name = `${entry.prefix}: ${entry.row.operationId}, ${ending.name}`;
      assert.equal(status, ending.status, `${name}: ${text}`);
    }
  }
  assert.deepEqual(await digestOf(db, OWN), before);
}

test('no operation for keys is done for a key that was ended between the head and the body', async (t) => {
  assert.ok(OF_KEYS.length >= 15, String(OF_KEYS.length));
  const environment = await startWithLateBodies(t);
  await tryAll(environment, OF_KEYS, ENDINGS_OF_KEYS, (db) => newKey(db, ACME));
});

test('no operation for keys of the operator is done for one that was ended meanwhile', async (t) => {
  assert.ok(OF_OPERATOR_KEYS.length >= 15, String(OF_OPERATOR_KEYS.length));
  const environment = await startWithLateBodies(t);
  await tryAll(environment, OF_OPERATOR_KEYS, ENDINGS_OF_KEYS, (db) => newKey(db, null));
});

test('no operation in an organisation is done for a member that was ended meanwhile', async (t) => {
  assert.ok(OF_MEMBERS.length >= 35, String(OF_MEMBERS.length));
  const environment = await startWithLateBodies(t);
  // A reader may read by a body.
  const isOfReaders = (entry: Entry): boolean =>
    entry.row.write === false && !['admin', 'owner', 'member'].includes(roleOf(entry));
  const demoted = ENDINGS_OF_MEMBERS.filter(({ name }) => name !== 'demoted');
  const make = (db: Db) => newPerson(db, 'owner');
  await tryAll(environment, OF_MEMBERS.filter(isOfReaders), demoted, make);
  const others = OF_MEMBERS.filter((entry) => !isOfReaders(entry));
  await tryAll(environment, others, ENDINGS_OF_MEMBERS, make);
});

test('no operation of an account is done for a session that was ended meanwhile', async (t) => {
  assert.ok(OF_PEOPLE.length >= 10, String(OF_PEOPLE.length));
  const environment = await startWithLateBodies(t);
  await tryAll(environment, OF_PEOPLE, ENDINGS_OF_PEOPLE, (db) => newPerson(db, 'owner'));
});

test('no operation of operators is done for one that was ended meanwhile', async (t) => {
  assert.ok(OF_OPERATORS.length >= 25, String(OF_OPERATORS.length));
  const environment = await startWithLateBodies(t);
  await tryAll(environment, OF_OPERATORS, ENDINGS_OF_OPERATORS, (db) => newPerson(db, null));
});
