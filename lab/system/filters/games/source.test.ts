import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FilteredServer } from '../filtered-server.ts';

/** https://developer.valvesoftware.com/wiki/Server_queries */
const INFO = `ffffffff54${Buffer.from('Source Engine Query\0').toString('hex')}`;
const CHALLENGE = 'a1b2c3d4';
const NO_CHALLENGE = 'ffffffff';
/** The handshake of the game: asks for a challenge, and connects with it. */
const GET_CHALLENGE = `ffffffff71${'00'.repeat(4)}${Buffer.from('0000000000\0').toString('hex')}`;
const CONNECT = `ffffffff6b18000000030000${CHALLENGE}${'00'.repeat(40)}`;
const ANSWERS = [
  [`${INFO}${CHALLENGE}`, 'ffffffff4911'],
  [INFO, `ffffffff41${CHALLENGE}`],
  [`ffffffff55${CHALLENGE}`, 'ffffffff4400'],
  ['ffffffff55', `ffffffff41${CHALLENGE}`],
  [`ffffffff56${CHALLENGE}`, 'ffffffff450000'],
  ['ffffffff71', `ffffffff41${CHALLENGE}`],
  [CONNECT, 'ffffffff4200'],
  // Of a connection: a counter, and the rest as the game likes.
  ['01000000', '01000000'],
] as const;

test('source answers queries by their challenge, lets a player in, and no flood', async (t) => {
  const server = FilteredServer.create(t, 'source', 27_015);
  if (server === null) return;
  await server.filter();
  await server.answer('udp', ANSWERS);
  await server.ask('udp', [
    [INFO, 'ffffffff41'],
    [`${INFO}${CHALLENGE}`, 'ffffffff49'],
  ]);
  assert.deepEqual(
    await server.validated(),
    [],
    'old servers send information without a challenge',
  );
  await server.ask('udp', [
    [`ffffffff55${NO_CHALLENGE}`, 'ffffffff41'],
    [`ffffffff55${CHALLENGE}`, 'ffffffff44'],
    [`ffffffff56${CHALLENGE}`, 'ffffffff45'],
  ]);
  assert.equal((await server.validated()).length, 1);
  const playing = Array.from({ length: 60 }, (): [string, string] => ['01000000aabb', '01000000']);
  await server.ask('udp', [[GET_CHALLENGE, 'ffffffff41'], [CONNECT, 'ffffffff42'], ...playing]);
  assert.equal((await server.validated()).length, 2);
  assert.deepEqual(await server.dropped(), {});
  await server.assertFloodsDropped();
});
