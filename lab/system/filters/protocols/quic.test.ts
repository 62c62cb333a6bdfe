import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FilteredServer } from '../filtered-server.ts';

/** RFC 9000, 17.2 and 17.3. */
const VERSION = '00000001';
const INITIAL = `c3${VERSION}08${'11'.repeat(8)}`.padEnd(2400, '0');
const RETRY = `f0${VERSION}08${'22'.repeat(60)}`;
const SERVER_INITIAL = `c1${VERSION}08${'33'.repeat(8)}`.padEnd(2400, '0');
const HANDSHAKE = `e1${VERSION}08${'44'.repeat(60)}`;
const OPEN = `41${'55'.repeat(40)}`;

test('quic opens a connection, also by Retry, carries it, and no flood', async (t) => {
  const server = FilteredServer.create(t, 'quic', 443);
  if (server === null) return;
  await server.filter();
  await server.answer('udp', [
    [`c3${VERSION}08${'11'.repeat(8)}`, RETRY],
    [`c2${VERSION}`, SERVER_INITIAL],
    // Of this connection only: a server answers no other, and a flood guesses the first byte.
    [`e1${VERSION}08${'44'.repeat(8)}`, OPEN],
    ['41', OPEN],
  ]);
  const again = INITIAL.replace(/^c3/, 'c2');
  await server.ask('udp', [
    [INITIAL, RETRY],
    [again, SERVER_INITIAL],
  ]);
  assert.deepEqual(await server.validated(), [], 'an opening connection validates no source');
  const carried = Array.from({ length: 60 }, (): [string, string] => [OPEN, '41']);
  await server.ask('udp', [
    [INITIAL, RETRY],
    [again, SERVER_INITIAL],
    [HANDSHAKE, OPEN],
    ...carried,
  ]);
  assert.equal((await server.validated()).length, 1);
  assert.deepEqual(await server.dropped(), {});
  await server.assertFloodsDropped();
});
