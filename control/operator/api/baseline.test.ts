import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { OPERATOR_PREFIX } from '@portcullis/contract/operator-endpoints.ts';
import { applyText } from '../fleet-file/testing.ts';
import { assertRefused, dataOf } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';

const LIST = `${OPERATOR_PREFIX}/baseline`;
const ONE = `${LIST}/${encodeURIComponent('203.0.113.0/24')}`;
const ANY = { action: 'deny', protocol: 'udp', source_ip: null };

async function start(t: Parameters<typeof startEnvironment>[0]) {
  const environment = await startEnvironment(t);
  const abilities = ['operator.read', 'operator.manage'];
  const operator = await environment.client({ organisationId: null, abilities });
  await sql`delete from api_keys where organisation_id is not null`.execute(environment.db);
  return { ...environment, operator };
}

test('the baseline of a prefix is its rules, and ports that differ alone are one rule', async (t) => {
  const { operator, db } = await start(t);
  const rules = [19, '1900, 1901', 1902].map((port) => ({ ...ANY, destination_port: port }));
  const made = await operator.put(ONE, { rules }, { 'if-none-match': '*' });
  assert.equal(made.status, 201);
  assert.notEqual(made.headers.get('portcullis-generation'), null);
  const { rules: shown } = dataOf<{ rules: unknown }>(made);
  assert.deepEqual(shown, [{ ...ANY, destination_port: '19,1900-1902' }]);
  dataOf(await operator.put(ONE, { rules: [{ ...ANY, destination_port: 19 }] }));
  const { rows } = await sql<{ words: string }>`
    select detail ->> 'words' as words from audit where action = 'baseline.change'`.execute(db);
  assert.deepEqual(rows, [{ words: '- deny udp 1900, - deny udp 1901, - deny udp 1902' }]);
  const wrong = await operator.put(ONE, {
    rules: [
      { ...ANY, source_ip: '2001:db8::1' },
      { ...ANY, destination_port: 'Survival:query' },
    ],
  });
  const { errors } = assertRefused(wrong, 422, 'invalid_request') as {
    readonly errors: readonly { readonly pointer: string }[];
  };
  const pointers = errors.map(({ pointer }) => pointer);
  assert.deepEqual(pointers, ['/rules/0/source_ip', '/rules/1/destination_port']);
  assertRefused(await operator.get(`${LIST}/nonsense`), 404, 'not_found');
  assert.equal((await operator.send('DELETE', ONE)).status, 200);
  assert.deepEqual(dataOf(await operator.get(LIST)), []);
});

test('a fleet file leaves a baseline that was made by hand alone, and says so of its own', async (t) => {
  const { operator, db } = await start(t);
  dataOf(await operator.put(ONE, { rules: [{ ...ANY, destination_port: 19 }] }));
  const file = (prefixes: string) =>
    `baseline: [{ prefixes: [${prefixes}], rules: [{ action: deny, protocol: udp, destination_port: 17 }] }]\nedges: [{ name: fra1, devices: [x] }]`;
  await assert.rejects(() => applyText(db, file('203.0.113.0/24')), /was made by hand/);
  const { changes } = await applyText(db, file('198.51.100.0/24, 2001:db8::/32'));
  assert.deepEqual(
    changes
      .filter(({ subject }) => subject.startsWith('baseline'))
      .map(({ subject, words }) => `${subject}: ${words}`),
    ['baseline of 198.51.100.0/24: deny udp 17', 'baseline of 2001:db8::/32: deny udp 17'],
  );
  const owners = dataOf<{ prefix: string; owner: string }[]>(await operator.get(LIST));
  assert.deepEqual(
    owners.map(({ prefix, owner }) => `${prefix} ${owner}`),
    ['198.51.100.0/24 fleet', '203.0.113.0/24 portal', '2001:db8::/32 fleet'],
  );
  assert.equal((await applyText(db, file('198.51.100.0/24, 2001:db8::/32'))).changes.length, 0);
});

test('rules whose ports are together more than one rule may name stay whole, by a file and by hand', async (t) => {
  const { operator, db } = await start(t);
  const rules = ['1-90', '101-190'].map((port) => ({ ...ANY, destination_port: port }));
  const made = dataOf<{ rules: object[] }>(await operator.put(ONE, { rules }));
  assert.deepEqual(
    made.rules,
    ['1-90,101-111', '112-190'].map((port) => ({ ...ANY, destination_port: port })),
  );
  const again = await operator.put(ONE, { rules: made.rules });
  assert.equal(again.headers.get('portcullis-generation'), null);
  dataOf(await operator.send('DELETE', ONE));
  await sql`delete from baseline_rules`.execute(db);
  const entry = (ports: string) =>
    `- { prefixes: [203.0.113.0/24], rules: [{ action: deny, protocol: udp, destination_port: ${ports} }] }`;
  const { changes } = await applyText(db, `baseline:\n${entry('1-90')}\n${entry('101-190')}\n`);
  const { rows } = await sql`select from baseline_rules where deleted_generation is null`.execute(
    db,
  );
  assert.deepEqual(
    [changes.filter(({ kind }) => kind === 'baseline').length, rows.length],
    [1, 180],
  );
});
