import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { OPERATOR_PREFIX } from '@portcullis/contract/operator-endpoints.ts';
import { dataOf } from '../../../testing/client.ts';
import { startEnvironment } from '../../../testing/fixture.ts';
import { applyFleet, planFleet } from '../apply/apply.ts';
import type { FleetFile } from '../desired.ts';
import { checkFleet } from '../parse/parse.ts';
import { SHIPPED_EGGS } from '../read/egg-files.ts';
import { readChecked } from '../read/read.ts';
import { mistakesOf, TEST_ACTOR } from '../testing.ts';
import { exportFleet } from './export.ts';

const WHERE = { path: '/nowhere/fleet.yaml', eggs: SHIPPED_EGGS };
const HIVE = `${OPERATOR_PREFIX}/organisations/hive`;
const UUID = '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11';
const OWN_EGG = {
  meta: { version: 'PTDL_v2' },
  name: 'Own egg',
  docker_images: { one: 'example/one' },
  startup: 'run',
  config: { stop: '^C' },
  variables: [
    {
      name: 'Message',
      env_variable: 'MOTD',
      default_value: 'hello',
      user_viewable: true,
      user_editable: true,
      rules: 'required|string',
    },
    {
      name: 'Map',
      env_variable: 'MAP',
      default_value: 'one',
      user_viewable: true,
      user_editable: true,
      rules: 'required|string',
    },
  ],
};

/** An installation that was made by the API, with what a file cannot have, or only in part. */
async function start(t: Parameters<typeof startEnvironment>[0]) {
  const environment = await startEnvironment(t);
  const abilities = ['operator.read', 'operator.manage'];
  const operator = await environment.client({ organisationId: null, abilities });
  const put = async (path: string, body: object) => dataOf(await operator.put(path, body));
  const post = async (path: string, body: object) =>
    dataOf<{ id: number }>(await operator.post(path, body));
  const hive = { name: 'Hive', limits: { rules_per_ip: 7 } };
  await put(HIVE, { ...hive, flags: ['firewall_api', 'attack_history_api'] });
  await put(`${HIVE}/services/9`, { name: 's' });
  await post(`${HIVE}/holdings`, { prefix: '192.0.3.0/24', default: 'deny' });
  await post(`${HIVE}/holdings`, { prefix: '192.0.2.7', service: 9 });
  const networks = { prefixes: ['192.0.3.7/32'] };
  await post(`${HIVE}/keys`, { name: 'same', abilities: ['firewall.read'], ...networks });
  await post(`${HIVE}/keys`, { name: 'same', abilities: ['firewall.manage'] });
  await post(`${HIVE}/keys`, { name: 'past', abilities: ['attacks.read'] });
  await put(HIVE, { ...hive, flags: ['firewall_api'] });
  const { id } = await post(`${HIVE}/keys`, { name: 'gone', abilities: ['firewall.read'] });
  assert.equal((await operator.send('DELETE', `${HIVE}/keys/${id}`)).status, 200);
  const twin = { name: 'twin', abilities: ['firewall.read'] };
  const revoked = await post(`${HIVE}/keys`, twin);
  await sql`update api_keys set owner = 'fleet', revoked_at = now() where id = ${revoked.id}`.execute(
    environment.db,
  );
  await post(`${HIVE}/keys`, twin);
  await put(`${HIVE}/groups/web`, {
    rules: [{ action: 'deny', protocol: 'udp', destination_port: '19,1900' }],
    addresses: ['192.0.3.0/24'],
  });
  const located = { action: 'deny', countries: ['XX'], addresses: ['192.0.3.7'] };
  await post(`${HIVE}/geo-rules`, located);
  await put(`${HIVE}/blocked/all`, { sources: [{ source: '198.51.100.7', note: 'scans' }] });
  await put(`${OPERATOR_PREFIX}/edges/fra1`, { devices: ['eth0'], site: 'fra' });
  await put(`${OPERATOR_PREFIX}/nodes/n9`, { memory: 4_096, addresses: ['192.0.2.7'] });
  const webhook = { webhook: 'https://a.example/x', secret: 'hush' };
  await put(`${OPERATOR_PREFIX}/responders/hook`, webhook);
  await put(`${OPERATOR_PREFIX}/game-servers/${UUID}`, {
    organisation: 'hive',
    service: 9,
    name: 'Survival',
    node: 'n9',
    egg: 'own',
    egg_document: OWN_EGG,
    image: 'one',
    variables: { MOTD: 'from its people', MAP: 'two' },
    limits: { memory: 256, cpu: 100, disk: 512 },
    allocation: { ip: '192.0.2.7', port: 25_565 },
  });
  await sql`update game_servers set set_by_people = '{/image,/name,/variables/MOTD}' where uuid = ${UUID}`.execute(
    environment.db,
  );
  return { ...environment, operator };
}

async function parse(text: string): Promise<FleetFile> {
  const checked = checkFleet(text, WHERE.path, { RESPONDER_HOOK_SECRET: 'hush' });
  const read = checked.ok ? await readChecked(checked, WHERE.path, SHIPPED_EGGS) : checked;
  if (!read.ok) throw new Error(mistakesOf(read).join('\n'));
  return read.value;
}

test('what was made by hand is exported and handed over without a change, and what a file cannot have is named', async (t) => {
  const { db, operator } = await start(t);
  const read = async () => ({
    server: dataOf(await operator.get(`${OPERATOR_PREFIX}/game-servers/${UUID}`)),
    keys: dataOf<object[]>(await operator.get(`${HIVE}/keys`)),
    geo: dataOf<object[]>(await operator.get(`${HIVE}/geo-rules`)),
    blocked: dataOf<object[]>(await operator.get(`${HIVE}/blocked`)),
    holdings: dataOf<object[]>(await operator.get(`${HIVE}/holdings`)),
    groups: dataOf<object[]>(await operator.get(`${HIVE}/groups`)),
    responders: dataOf<object[]>(await operator.get(`${OPERATOR_PREFIX}/responders`)),
    edges: dataOf<object[]>(await operator.get(`${OPERATOR_PREFIX}/edges`)),
  });
  const others = new Set(['owner', 'set_by_people']);
  const withoutOwner = (value: unknown) =>
    JSON.parse(JSON.stringify(value, (name, member) => (others.has(name) ? undefined : member)));
  const before = await read();
  const { text, left, differences, variables } = await exportFleet(db, WHERE);
  assert.deepEqual([differences, variables], [[], ['RESPONDER_HOOK_SECRET']]);
  const ofHive = left.filter(({ subject }) => subject.includes('hive'));
  assert.deepEqual(
    ofHive.map(({ subject }) => subject),
    [
      'geo rule deny XX (hive)',
      'blocked sources on everything (hive)',
      'key same (hive)',
      'key past (hive)',
      'key twin (hive)',
    ],
  );
  assert.match(ofHive[4]?.reason ?? '', /was revoked and stays so/);
  assert.match(ofHive[3]?.reason ?? '', /attacks\.read needs the flag attack_history_api/);
  for (const { subject } of left) assert.ok(text.includes(`#   - ${subject}: `), subject);
  assert.ok(!/hush|from its people|gone/.test(text));
  const file = await parse(text);
  const refused = await planFleet(db, file);
  assert.match(refused.mistakes[0]?.message ?? '', /--adopt hands it to this one/);
  const options = { allowLosses: false, adopt: true, actor: TEST_ACTOR };
  assert.deepEqual((await applyFleet(db, file, options)).changes, []);
  assert.deepEqual(withoutOwner(await read()), withoutOwner(before));
  // The file has to state the name, so it is no longer one that people set.
  const { rows } = await sql`select set_by_people as own from game_servers`.execute(db);
  assert.deepEqual(rows, [{ own: ['/image', '/variables/MOTD'] }]);
  const again = await exportFleet(db, WHERE);
  assert.deepEqual([again.differences, again.left.length], [[], left.length]);
});

test('an export is refused without the secrets that it names, and takes none away', async (t) => {
  const { db } = await start(t);
  const { text } = await exportFleet(db, WHERE);
  const checked = checkFleet(text, WHERE.path, {});
  assert.match(
    mistakesOf(checked as never).join(),
    /The environment variable RESPONDER_HOOK_SECRET is not set\./,
  );
});

test('an egg that only this installation has is named by its digest, with what was checked', async (t) => {
  const { db } = await start(t);
  const { text } = await exportFleet(db, WHERE);
  assert.match(text, /egg: own\n +egg_digest: [0-9a-f]{64}\n/);
  const planned = async (changed: string) =>
    (await planFleet(db, await parse(changed), { adopt: true })).mistakes.map((one) => one.message);
  assert.deepEqual(await planned(text), []);
  const [unknown] = await planned(text.replace(/egg_digest: .*/, `egg_digest: ${'f'.repeat(64)}`));
  assert.match(unknown ?? '', /There is no egg own with the digest f+: leave egg_digest out/);
  for (const other of [text.replace('MAP: two', 'MAP: three'), text.replace(/ MAP: two,? ?/, '')]) {
    const [unchecked] = await planned(other);
    assert.match(unchecked ?? '', /not at hand to check the image and the variables/);
  }
});

test('a default that a caller set on a holding of the file goes with it', async (t) => {
  const { db } = await start(t);
  await sql`update holdings set owner = 'fleet'`.execute(db);
  const { text, differences } = await exportFleet(db, WHERE);
  assert.deepEqual(differences, []);
  assert.match(text, /cidr: 192\.0\.3\.0\/24, .*default: deny/);
});
