import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import type { Db } from '../../db/database.ts';
import { Batch } from '../../fleet/batch.ts';
import { inSnapshot, loadAddressPolicy } from '../../fleet/policies/policies.ts';
import { addNode, addServer, uuidOf } from '../../game-servers/testing/servers.ts';
import { assertRefused, dataOf, type TestReply } from '../../testing/client.ts';
import { startEnvironment } from '../../testing/fixture.ts';
import { followPorts } from './index.ts';

const IP = '198.51.100.10';
const X1 = `/api/x1/firewall/ips/${IP}`;
const V1 = `/api/v1/firewall/ips/${IP}`;
const PORTAL = `/api/portal/organisations/acme/firewall/ips/${IP}`;

interface Rule {
  readonly id: number;
  readonly action: string;
  readonly destination_port: number | null;
  readonly named_port?: string | null;
}
const rulesOf = (reply: TestReply) => dataOf<{ rules: Rule[] }>(reply).rules;
const portsOf = (reply: TestReply) =>
  rulesOf(reply).map(({ destination_port: port, named_port: name }) => [port, name]);

const allow = (destination_port: string, protocol = 'udp') => ({
  action: 'allow',
  protocol,
  destination_port,
});

const port = (number: number, name: string, ip = IP) => ({
  ip,
  port: number,
  protocols: ['udp'],
  variable: null,
  name,
});

/** A server "Survival" at port 20001, with a query port. */
async function addSurvival(db: Db, number = 1): Promise<string> {
  if (number === 1) await addNode(db, 'node-1');
  const uuid = await addServer(db, { number, name: 'Survival' });
  await setPorts(db, uuid, [port(20_000 + number, 'game'), port(27_000 + number, 'query')]);
  return uuid;
}

async function setPorts(db: Db, uuid: string, ports: readonly object[]): Promise<number | null> {
  return db.transaction().execute(async (tx) => {
    await sql`
      update game_servers set ports = ${JSON.stringify(ports)}::jsonb where uuid = ${uuid}`.execute(
      tx,
    );
    const batch = new Batch(tx, 'fleet');
    await followPorts(batch, [uuid]);
    return batch.takeGeneration('test');
  });
}

test('a rule names a port of a server, and follows it; v1 shows the number', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const uuid = await addSurvival(db);
  const rules = [allow('Survival:query'), allow('Survival:primary', 'tcp'), allow('80', 'tcp')];
  dataOf(await acme.put(X1, { rules, filters: [] }));
  assert.deepEqual(portsOf(await acme.get(X1)), [
    [27_001, 'Survival:query'],
    [20_001, 'Survival:primary'],
    [80, null],
  ]);
  const generation = await setPorts(db, uuid, [port(20_001, 'game'), port(27_500, 'query')]);
  assert.deepEqual(portsOf(await acme.get(X1)), [
    [20_001, 'Survival:primary'],
    [80, null],
    [27_500, 'Survival:query'],
  ]);
  assert.deepEqual(portsOf(await acme.get(V1)), [
    [20_001, undefined],
    [80, undefined],
    [27_500, undefined],
  ]);
  const { rows } = await sql<{ target: string }>`
    select target from changes where generation = ${generation}`.execute(db);
  assert.deepEqual(rows, [{ target: `${IP}/32` }]);
  const policy = await inSnapshot(db, (tx) => loadAddressPolicy(tx, IP));
  assert.deepEqual(
    policy.rules.map((rule) => rule.port),
    [20_001, 80, 27_500],
  );
  assert.equal(await setPorts(db, uuid, [port(20_001, 'game'), port(27_500, 'query')]), null);
});

test('what was read can be sent back, also after the port has changed', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const uuid = await addSurvival(db);
  dataOf(await acme.put(X1, { rules: [allow('Survival:query')], filters: [] }));
  const read = dataOf<object>(await acme.get(X1));
  await setPorts(db, uuid, [port(20_001, 'game'), port(27_500, 'query')]);
  assert.equal(dataOf<{ unchanged: number }>(await acme.put(X1, read)).unchanged, 1);
  assert.deepEqual(portsOf(await acme.get(X1)), [[27_500, 'Survival:query']]);
  // By number it is another rule, and takes the place of the name.
  dataOf(await acme.put(X1, { rules: [allow('27500')], filters: [] }));
  assert.deepEqual(portsOf(await acme.get(X1)), [[27_500, null]]);
});

test('a rule whose port is gone ends, and an undo leaves its number', async (t) => {
  const { acme, db, session } = await startEnvironment(t);
  const uuid = await addSurvival(db);
  const rules = [{ ...allow('Survival:query'), note: 'for the list of servers' }];
  dataOf(await acme.post(`${X1}/rules`, { rules }));
  const elsewhere = [port(20_001, 'game'), port(27_001, 'query', '203.0.113.5')];
  const generation = await setPorts(db, uuid, elsewhere);
  assert.deepEqual(rulesOf(await acme.get(X1)), []);
  const { rows } = await sql<{ configured: boolean }>`select configured from addresses`.execute(db);
  assert.deepEqual(rows, [{ configured: false }]);
  dataOf(await session('member').post(`${PORTAL}/undo`, { generation }));
  assert.deepEqual(portsOf(await acme.get(X1)), [[27_001, null]]);
});

test('a rule keeps its note when it follows its port', async (t) => {
  const { acme, db, session } = await startEnvironment(t);
  const uuid = await addSurvival(db);
  const rules = [{ ...allow('Survival:query'), note: 'for the list of servers' }];
  dataOf(await acme.post(`${X1}/rules`, { rules }));
  await setPorts(db, uuid, [port(20_001, 'game'), port(27_500, 'query')]);
  const notes = dataOf<{ note: string }[]>(await session('member').get(`${PORTAL}/notes`));
  assert.deepEqual(
    notes.map(({ note }) => note),
    ['for the list of servers'],
  );
});

test('a rule that follows its port may come to that of another rule', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const uuid = await addSurvival(db);
  dataOf(await acme.put(X1, { rules: [allow('Survival:query'), allow('27500')], filters: [] }));
  await setPorts(db, uuid, [port(20_001, 'game'), port(27_500, 'query')]);
  const read = await acme.get(X1);
  assert.deepEqual(portsOf(read), [
    [27_500, null],
    [27_500, 'Survival:query'],
  ]);
  const back = await acme.put(X1, dataOf<object>(read));
  assert.equal(dataOf<{ unchanged: number }>(back).unchanged, 2);
  assertRefused(await acme.post(`${V1}/rules`, allow('27500')), 422, 'rule_exists');
});

test('names that are unknown, of others, ambiguous or elsewhere are refused with the reason', async (t) => {
  const { acme, other, client, db } = await startEnvironment(t);
  const uuid = await addSurvival(db);
  const refusal = async (name: string, as = acme, ip = IP): Promise<string> => {
    const url = `/api/x1/firewall/ips/${ip}`;
    const reply = await as.put(url, { rules: [allow(name)], filters: [] });
    assertRefused(reply, 422, 'invalid_request');
    return reply.text;
  };
  assert.match(await refusal('Creative:query'), /there is no game server \\"Creative\\"/);
  assert.match(await refusal('Survival:rcon'), /no port \\"rcon\\"; it has .*primary.*query/);
  assert.match(await refusal('Survival:query', acme, '203.0.113.10'), /is at 198.51.100.10/);
  assert.match(await refusal('Survival:query', other, '192.0.2.1'), /there is no game server/);
  const blind = await client({ servers: [uuidOf(9)] });
  assert.match(await refusal('Survival:query', blind), /there is no game server/);
  assertRefused(await acme.post(`${V1}/rules`, allow('Survival:query')), 422, 'invalid_request');
  await addSurvival(db, 2);
  assert.match(await refusal('Survival:query'), /several game servers .*write its uuid/);
  dataOf(await acme.put(X1, { rules: [allow(`${uuid}:query`)], filters: [] }));
  assert.deepEqual(portsOf(await acme.get(X1)), [[27_001, `${uuid}:query`]]);
  const icmp = await acme.put(X1, { rules: [allow(`${uuid}:query`, 'icmp')], filters: [] });
  assertRefused(icmp, 422, 'invalid_request');
});

test('a server behind NAT has its ports at the addresses of its service, one on loopback at none', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const uuid = await addSurvival(db);
  await setPorts(db, uuid, [port(20_001, 'game'), port(27_001, 'query', '10.0.0.7')]);
  dataOf(await acme.put(X1, { rules: [allow('Survival:query')], filters: [] }));
  await setPorts(db, uuid, [port(20_001, 'game'), port(27_001, 'query', '127.0.0.1')]);
  assert.deepEqual(rulesOf(await acme.get(X1)), []);
});

test('a packet is explained by the name of its port, and so is the rule that decides', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await addSurvival(db);
  const rules = [{ ...allow('Survival:query'), action: 'deny' }];
  dataOf(await acme.put(X1, { rules, filters: [] }));
  const packet = { protocol: 'udp', source_ip: '192.0.2.9', destination_port: 'Survival:query' };
  const explained = dataOf<{
    verdict: string;
    explanation: string;
    decided_by: { named_port: string };
  }>(await acme.post(`${X1}/explain`, packet));
  assert.equal(explained.verdict, 'drop');
  assert.equal(explained.decided_by.named_port, 'Survival:query');
  assert.match(explained.explanation, /udp 27001.*Its port is that of Survival:query\.$/);
  const unknown = { ...packet, destination_port: 'Survival:rcon' };
  assertRefused(await acme.post(`${X1}/explain`, unknown), 422, 'invalid_request');
});

test('the refusal of a managed filter names the port that it is on', async (t) => {
  const { acme, db } = await startEnvironment(t);
  const uuid = await addSurvival(db);
  const managed = [{ type: 'udp-stateful', ports: `80,${uuid}:query` }];
  await sql`update services set managed_filters = ${JSON.stringify(managed)}::jsonb`.execute(db);
  const reply = await acme.post(`${V1}/filters`, { type: 'udp-stateful', port: '80' });
  assertRefused(reply, 422, 'filter_unavailable');
  assert.match(reply.text, /udp-stateful \(ports 80,Survival:query\)/);
});
