import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Db } from '../../../db/database.ts';
import { testDatabase } from '../../../db/testing.ts';
import { inSnapshot, loadAddressPolicy } from '../../../fleet/policies/policies.ts';
import { applyText, insertOwnRule, mistakesOf, parseText } from '../testing.ts';

const IP = '198.51.100.10';
const UUID = '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c10';

interface Terms {
  readonly rule?: string;
  readonly filter?: string;
  readonly query?: number;
  readonly name?: string;
  readonly more?: string;
}

const fleet = ({
  rule = `"Survival:query"`,
  filter = '"Survival:query,80"',
  query = 28_017,
  name = 'query',
  more = '',
}: Terms = {}): string => `organisations:
  acme:
    name: Acme
    services:
      - id: 1
        name: s
        addresses: [{ ip: ${IP} }]
        managed_filters: [{ type: udp-stateful, ports: ${filter} }]
      - { id: 2, name: other }
    groups:
      - { name: games, rules: [{ action: deny, protocol: udp, destination_port: ${rule} }], addresses: [${IP}] }
nodes: [{ name: n1 }]
game_servers:
  - uuid: ${UUID}
    organisation: acme
    service: 1
    name: Survival
    node: n1
    egg: test.json
    limits: { memory: 1024, cpu: 100, disk: 2048 }
    allocations: [{ ip: ${IP}, port: 28015 }, { ip: ${IP}, port: ${query}, name: ${name} }]
${more}`;

async function portsOf(db: Db): Promise<{ rules: (number | null)[]; filters: number[] }> {
  const { rules, filters } = await inSnapshot(db, (tx) => loadAddressPolicy(tx, IP));
  return { rules: rules.map(({ port }) => port), filters: filters.map(({ port }) => port) };
}

test('rules of groups and managed filters name ports of servers, and follow them', async (t) => {
  const { db } = await testDatabase(t);
  await applyText(db, fleet());
  assert.deepEqual(await portsOf(db), { rules: [28_017], filters: [80, 28_017] });
  assert.deepEqual((await applyText(db, fleet())).changes, []);
  const moved = await applyText(db, fleet({ query: 28_500 }));
  assert.deepEqual(
    moved.changes.map((change) => change.do),
    ['server.update'],
  );
  assert.deepEqual(await portsOf(db), { rules: [28_500], filters: [80, 28_500] });
  const { rows } = await db.executeQuery<{ target: string }>({
    ...db
      .selectFrom('changes')
      .select('target')
      .where('generation', '=', moved.generation)
      .compile(),
  });
  assert.deepEqual(rows, [{ target: `${IP}/32` }]);
  assert.deepEqual((await applyText(db, fleet({ query: 28_500 }))).changes, []);
  await applyText(db, fleet({ query: 28_500, rule: '28500' }));
  assert.deepEqual(await portsOf(db), { rules: [28_500], filters: [80, 28_500] });
});

test("a caller's rule follows what the file changes, and ends with its server", async (t) => {
  const { db } = await testDatabase(t);
  await applyText(db, fleet());
  const id = await insertOwnRule(db, IP, { port: 28_015 });
  const name = { port_server: UUID, port_name: 'primary' };
  await db.updateTable('rules').set(name).where('id', '=', id).execute();
  await applyText(db, fleet().replace('port: 28015', 'port: 28000'));
  assert.deepEqual((await portsOf(db)).rules, [28_000, 28_017]);
  const without = fleet({ rule: '19', filter: '80' });
  await applyText(db, without.slice(0, without.indexOf('game_servers:')));
  assert.deepEqual(await portsOf(db), { rules: [19], filters: [80] });
});

test('ports that are open while their server runs follow the file, and close with the server or its wish', async (t) => {
  const { db } = await testDatabase(t);
  const open = fleet({ rule: '19' }).replace('node: n1', 'node: n1\n    open_while_running: true');
  const opened = async (): Promise<(number | null)[]> =>
    (await portsOf(db)).rules.filter((port) => port !== 19);
  await applyText(db, open);
  assert.deepEqual(await opened(), []);
  const runs = { build_state: 'built', identifier: 'x', power_state: 'running' } as const;
  await db.updateTable('game_servers').set(runs).execute();
  await applyText(db, open.replace('port: 28015', 'port: 28000'));
  assert.deepEqual(await opened(), [28_000, 28_000, 28_017, 28_017]);
  await applyText(db, open.replace('open_while_running: true', 'open_while_running: false'));
  assert.deepEqual(await opened(), []);
  await applyText(db, open);
  assert.deepEqual(await opened(), [28_015, 28_015, 28_017, 28_017]);
  await applyText(db, open.replace('running: true', 'running: [query]'));
  assert.deepEqual(await opened(), [28_017, 28_017]);
  await applyText(db, open.replace('running: true', 'running: [primary]'));
  assert.deepEqual(await opened(), [28_015, 28_015]);
  const second = open.replace('nodes: [', 'nodes: [{ name: n2 }, ').replace('node: n1', 'node: n2');
  await applyText(db, second);
  assert.deepEqual(await opened(), []);
  await db.updateTable('game_servers').set(runs).execute();
  await applyText(db, second.replace('port: 28015', 'port: 28000'));
  assert.equal((await opened()).length, 4);
  await applyText(db, open.slice(0, open.indexOf('game_servers:')).replace('Survival:query,', ''));
  assert.deepEqual(await opened(), []);
});

test('names that the file does not have are refused, with the place', () => {
  const mistakes = (terms: Terms): string => mistakesOf(parseText(fleet(terms))).join('\n');
  assert.match(
    mistakes({ rule: '"Creative:query"' }),
    /^11:\d+ There is no game server "Creative" in/,
  );
  assert.match(
    mistakes({ rule: '"Survival:rcon"' }),
    /has no port "rcon"; it has primary, query in/,
  );
  assert.match(mistakes({ filter: '"Survival:rcon"' }), /^8:\d+ Survival has no port "rcon"/);
  assert.match(mistakes({ filter: '"80-"' }), /neither a port nor a range/);
  const open = fleet().replace('node: n1', 'node: n1\n    open_while_running: [rcon]');
  assert.match(mistakesOf(parseText(open)).join('\n'), /has no port "rcon"; it has primary, query/);
  assert.match(mistakes({ name: 'primary' }), /primary is the name of the first one/);
  const baseline = `baseline: [{ prefixes: [198.51.100.0/24], rules: [{ action: deny, protocol: udp, destination_port: "Survival:query" }] }]`;
  assert.match(mistakes({ more: baseline }), /Only rules of groups name ports/);
  const elsewhere = fleet().replace('service: 1', 'service: 2');
  assert.match(
    mistakesOf(parseText(elsewhere)).join('\n'),
    /Survival:query is a port of the service 2/,
  );
});
