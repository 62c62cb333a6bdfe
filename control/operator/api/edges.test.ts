import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { OPERATOR_PREFIX } from '@portcullis/contract/operator-endpoints.ts';
import type { Db } from '../../db/database.ts';
import { assertRefused, dataOf } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

const EDGES = `${OPERATOR_PREFIX}/edges`;
const FRA1 = `${EDGES}/fra1`;
const PLAIN = { 'content-type': 'application/json' };
const PATCH = { 'content-type': 'application/merge-patch+json' };
const SSH = [{ protocol: 'tcp', port: 2_222 }];
const DECLARED = {
  site: 'fra',
  devices: ['eth0'],
  serves: ['203.0.113.0/24'],
  sees: 'inbound',
  fragments: 'limit',
  management: SSH,
};
/** The body that the form of the portal sends for a new edge. */
const FORM = { devices: ['eth1'] };
const DEFAULTS = {
  site: 'fra1',
  serves: ['0.0.0.0/0', '::/0'],
  sees: 'both',
  fragments: 'reassemble',
  management: [{ protocol: 'tcp', port: 22 }],
};

async function start(t: Parameters<typeof startEnvironment>[0]) {
  const environment = await startEnvironment(t);
  const abilities = ['operator.read', 'operator.manage'];
  const operator = await environment.client({ organisationId: null, abilities });
  const patch = (json: unknown, headers: Readonly<Record<string, string>> = {}) =>
    operator.send('PATCH', FRA1, { json, headers });
  return { ...environment, operator, patch };
}

async function generationOf(db: Db): Promise<number> {
  const { rows } = await sql<{ generation: number }>`select generation from fleet`.execute(db);
  return rows[0]?.generation ?? 0;
}

test('a name that exists is not created again, so its management port stays', async (t) => {
  const { operator } = await start(t);
  assert.equal((await operator.put(FRA1, DECLARED, { 'if-none-match': '*' })).status, 201);
  const again = await operator.put(FRA1, FORM, { 'if-none-match': '*' });
  assertRefused(again, 412, 'precondition_failed');
  const { owner, ...edge } = dataOf<{ owner: string }>(await operator.get(FRA1));
  assert.deepEqual(edge, { name: 'fra1', ...DECLARED });
  assert.equal(owner, 'portal');
});

test('PUT replaces the whole object, PATCH changes what it names, and null is the default', async (t) => {
  const { operator, patch, db } = await start(t);
  assert.equal((await operator.put(FRA1, DECLARED)).status, 201);
  const replaced = await operator.put(FRA1, FORM);
  assert.equal(replaced.status, 200);
  assert.deepEqual(dataOf(replaced), { name: 'fra1', ...DEFAULTS, ...FORM, owner: 'portal' });
  const changed = await patch({ management: SSH, sees: 'inbound' });
  assert.deepEqual(dataOf(changed), {
    name: 'fra1',
    ...DEFAULTS,
    ...FORM,
    management: SSH,
    sees: 'inbound',
    owner: 'portal',
  });
  const reset = dataOf<{ sees: string; management: unknown }>(await patch({ sees: null }));
  assert.deepEqual([reset.sees, reset.management], ['both', SSH]);
  // A write that changes nothing takes no generation.
  const generation = await generationOf(db);
  assert.equal((await patch({ sees: 'both' })).headers.get('portcullis-generation'), null);
  assert.equal(await generationOf(db), generation);
  assertRefused(await patch({}, PLAIN), 415, 'unsupported_media_type');
  assertRefused(await operator.put(FRA1, FORM, PATCH), 415, 'unsupported_media_type');
});

test('If-Match refuses a write on what was changed since it was read', async (t) => {
  const { operator, patch } = await start(t);
  const tagOf = async () => (await operator.get(FRA1)).headers.get('etag') ?? '';
  assertRefused(await operator.put(FRA1, FORM, { 'if-match': '*' }), 412, 'precondition_failed');
  await operator.put(FRA1, FORM);
  const read = await tagOf();
  const changed = await patch({ site: 'fra' }, { 'if-match': read });
  assert.equal(changed.status, 200);
  assert.equal(changed.headers.get('etag'), await tagOf());
  for (const reply of [
    await patch({ site: 'ams' }, { 'if-match': read }),
    await operator.put(FRA1, FORM, { 'if-match': read }),
    await operator.send('DELETE', FRA1, { headers: { 'if-match': read } }),
  ]) {
    assertRefused(reply, 412, 'precondition_failed');
  }
  const list = await operator.get(EDGES);
  assert.deepEqual(dataOf(list), [dataOf(await operator.get(FRA1))]);
});

test('a value is refused at its place, a name that can be none is not found', async (t) => {
  const { operator, patch } = await start(t);
  const pointersOf = (reply: { readonly body: unknown }) =>
    (reply.body as { errors: { pointer: string }[] }).errors.map(({ pointer }) => pointer);
  const wrong = await operator.put(FRA1, {
    devices: ['eth0', 'eth0'],
    serves: ['203.0.113.0/24', 'nonsense'],
    management: [...SSH, ...SSH],
  });
  assert.equal(wrong.status, 422);
  assert.deepEqual(pointersOf(wrong), ['/devices/1', '/serves/1', '/management/1']);
  assertRefused(await operator.put(`${EDGES}/-x`, FORM), 404, 'not_found');
  assertRefused(await operator.get(FRA1), 404, 'not_found');
  assertRefused(await patch({ site: 'x' }), 404, 'not_found');
  await operator.put(FRA1, FORM);
  assert.deepEqual(pointersOf(await patch({ devices: null })), ['/devices']);
});

test('an edge in service is not removed, and the last one only if that is allowed', async (t) => {
  const { operator, db } = await start(t);
  await operator.put(FRA1, FORM);
  await sql`update edges set in_service = true`.execute(db);
  assertRefused(await operator.send('DELETE', `${FRA1}?allow_losses=true`), 422, 'conflict');
  await sql`update edges set in_service = false`.execute(db);
  assertRefused(await operator.send('DELETE', FRA1), 422, 'live_objects');
  assert.equal((await operator.send('DELETE', `${FRA1}?allow_losses=true`)).status, 200);
  assert.deepEqual(dataOf(await operator.get(EDGES)), []);
  const { rows } = await sql<{ line: string }>`
    select action || ' ' || target as line from audit where action like 'edge.%' order by id`.execute(
    db,
  );
  assert.deepEqual(
    rows.map(({ line }) => line),
    ['edge.create edge:fra1', 'edge.remove edge:fra1'],
  );
});

test('an edge of the fleet file is read, and changed only there', async (t) => {
  const { operator, patch, db } = await start(t);
  await operator.put(FRA1, FORM);
  await sql`update edges set owner = 'fleet'`.execute(db);
  const { owner } = dataOf<{ owner: string }>(await operator.get(FRA1));
  assert.equal(owner, 'fleet');
  for (const reply of [
    await operator.put(FRA1, FORM),
    await patch({ site: 'x' }),
    await operator.send('DELETE', FRA1),
  ]) {
    assertRefused(reply, 422, 'managed_by_fleet_file');
  }
});
