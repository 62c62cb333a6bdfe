import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FilteredServer } from '../filtered-server.ts';

/** https://www.wireguard.com/protocol/ */
const INITIATION = `01000000${'11'.repeat(144)}`;
const RESPONSE = `02000000${'22'.repeat(88)}`;
const COOKIE = `03000000${'33'.repeat(60)}`;
/** The message of a key that the server knows; it answers no other. */
const KEEPALIVE = `04000000${'44'.repeat(28)}`;
const DATA = `04000000${'55'.repeat(600)}`;

test('wireguard carries a tunnel after its handshake, and no flood', async (t) => {
  const server = FilteredServer.create(t, 'wireguard', 51_820);
  if (server === null) return;
  await server.filter();
  await server.answer('udp', [
    [INITIATION, RESPONSE],
    // Under load a server sends a cookie, which proves nothing yet.
    [`01000000${'66'.repeat(8)}`, COOKIE],
    [`04000000${'44'.repeat(8)}`, KEEPALIVE],
    [`04000000${'55'.repeat(8)}`, KEEPALIVE],
  ]);
  await server.ask('udp', [[`01000000${'66'.repeat(144)}`, COOKIE]]);
  assert.deepEqual(await server.validated(), []);
  const data = Array.from({ length: 60 }, (): [string, string] => [DATA, KEEPALIVE]);
  await server.ask('udp', [[INITIATION, RESPONSE], ...data, [KEEPALIVE, KEEPALIVE]]);
  assert.equal((await server.validated()).length, 1);
  assert.deepEqual(await server.dropped(), {});
  await server.assertFloodsDropped();
});
