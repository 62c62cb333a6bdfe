import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testDatabase } from '../../../db/testing.ts';
import { applyText } from '../testing.ts';

const SERVER = `organisations:
  acme: { name: Acme, services: [{ id: 501, name: s, addresses: [{ ip: 198.51.100.10 }] }] }
nodes: [{ name: n }]
game_servers:
  - uuid: 6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11
    organisation: acme
    service: 501
    name: s
    node: n
    egg: e
    limits: { memory: 1, cpu: 1, disk: 1 }
    docker_image: IMAGE
    allocations: [{ ip: 198.51.100.10, port: 1, MARK: query }]
`;
const MOUNTED = (at: string) => `nodes: [{ name: n, mounts: [{ name: m, ${at} }] }]`;
const CALLED = (words: string) => `responders: [{ name: r, command: [/bin/x, ${words}] }]`;

const PAIRS: readonly (readonly [what: string, before: string, after: string, words: RegExp])[] = [
  [
    'the use of a port instead of a variable',
    SERVER.replace('MARK', 'variable').replace('IMAGE', 'x'),
    SERVER.replace('MARK', 'name').replace('IMAGE', 'x'),
    /^allocations .*"variable":"query".* -> .*"name":"query"/,
  ],
  [
    'an image that is called none',
    SERVER.replace('IMAGE', 'null').replace('MARK', 'name'),
    SERVER.replace('IMAGE', 'none').replace('MARK', 'name'),
    /^docker_image null -> "none"$/,
  ],
  [
    'spaces in folders',
    MOUNTED('source: /a, target: "/b /c"'),
    MOUNTED('source: "/a /b", target: /c'),
    /^mounts /,
  ],
  ['two words of a command', CALLED('"-n 5"'), CALLED('"-n", "5"'), /^calls .*"-n 5" -> .* -n 5$/],
];

for (const [what, before, after, words] of PAIRS) {
  test(`a change is saved though both states have the same words: ${what}`, async (t) => {
    const { db } = await testDatabase(t);
    await applyText(db, before);
    assert.deepEqual((await applyText(db, before)).changes, []);
    const { changes } = await applyText(db, after);
    assert.equal(changes.length, 1);
    assert.match(changes[0]?.words ?? '', words);
    assert.deepEqual((await applyText(db, after)).changes, []);
  });
}
