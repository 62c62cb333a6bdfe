import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadAssignments, loadNode } from '../../../game-servers/nodes/store.ts';
import { testDatabase } from '../../../db/testing.ts';
import { inSnapshot, loadPolicies } from '../../../fleet/policies/policies.ts';
import { applyText, mistakesOf, parseText } from '../testing.ts';

const GAME = `[{ ip: 198.51.100.10, port: 28015, protocols: [udp] },
      { ip: 198.51.100.10, port: 28016, protocols: [tcp], variable: RCON_PORT, name: rcon },
      { ip: 198.51.100.10, port: 28017, variable: QUERY_PORT, name: query }]`;

const fleet = (...allocations: readonly string[]): string => `organisations:
  acme:
    name: Acme
    services: [{ id: 1, name: s, addresses: [{ ip: 198.51.100.10 }] }]
nodes: [{ name: n1 }]
game_servers:
${allocations
  .map(
    (text, at) => `  - uuid: 6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c1${at}
    organisation: acme
    service: 1
    name: rust${at}
    node: n1
    egg: test.json
    limits: { memory: 1024, cpu: 100, disk: 2048 }
    ${text}`,
  )
  .join('\n')}
`;

test('a server has several ports, which its node and managed filters know', async (t) => {
  const { db } = await testDatabase(t);
  await applyText(db, fleet(`allocations: ${GAME}`));
  const node = await loadNode(db, 'n1');
  const [assignment] = await loadAssignments(db, node?.id ?? 0);
  assert.deepEqual(assignment?.allocation, { ip: '198.51.100.10', port: 28_015 });
  assert.deepEqual(
    assignment.ports.map(({ port, protocols, variable, name }) => [
      port,
      protocols,
      variable,
      name,
    ]),
    [
      [28_015, ['udp'], null, null],
      [28_016, ['tcp'], 'RCON_PORT', 'rcon'],
      [28_017, ['tcp', 'udp'], 'QUERY_PORT', 'query'],
    ],
  );
  const { policies } = await inSnapshot(db, (tx) => loadPolicies(tx, 'all'));
  const filtered = new Set(policies.flatMap(({ filters }) => filters.map(({ port }) => port)));
  assert.deepEqual([...filtered], [28_015, 28_016, 28_017]);
  assert.deepEqual((await applyText(db, fleet(`allocations: ${GAME}`))).changes, []);
  const fewer = await applyText(db, fleet('allocation: { ip: 198.51.100.10, port: 28015 }'));
  assert.match(
    fewer.changes.map(({ words }) => words).join(),
    /^allocations .* 28016 tcp RCON_PORT rcon/,
  );
});

test('no two servers have the same port, in the file or in the database', async (t) => {
  const { db } = await testDatabase(t);
  const one = 'allocation: { ip: 198.51.100.10, port: 28017 }';
  const mistakes = (text: string): string => mistakesOf(parseText(text)).join();
  assert.match(
    mistakes(fleet(`allocations: ${GAME}`, one)),
    /198.51.100.10 port 28017 is here twice/,
  );
  assert.match(
    mistakes(fleet(`${one}\n    allocations: ${GAME}`)),
    /either allocation or allocations/,
  );
  assert.match(mistakes(fleet('suspended: true')), /either allocation or allocations/);
  const reserved = GAME.replace('QUERY_PORT', 'SERVER_PORT');
  assert.match(mistakes(fleet(`allocations: ${reserved}`)), /SERVER_PORT is set for every server/);
  await applyText(db, fleet(`allocations: ${GAME}`, 'allocation: { ip: 198.51.100.10, port: 1 }'));
  const taken = db
    .updateTable('game_servers')
    .set({ port: 28_016 })
    .where('port', '=', 1)
    .execute();
  await assert.rejects(taken, /game_servers_allocation/);
});
