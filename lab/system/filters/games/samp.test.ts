import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FilteredServer } from '../filtered-server.ts';

/** https://wiki.open.mp/docs/tutorials/QueryMechanism; the handshake is that of RakNet 2 with its cookie. */
const query = (opcode: string): string =>
  `${Buffer.from('SAMP').toString('hex')}cb00710a611e${Buffer.from(opcode).toString('hex')}`;
/** Requests with the cookies 0 and 0x1234, as they are scrambled for port 7777. */
const ASKS = '081e8a27';
const RETURNS = '2a1ef423';
const PLAYING = Array.from({ length: 60 }, (): [string, string] => ['d1a7c3e5f7', 'e3']);

test('samp answers queries and lets a player in by its cookie, and no flood', async (t) => {
  const server = FilteredServer.create(t, 'samp', 7777);
  if (server === null) return;
  await server.filter();
  await server.answer('udp', [
    [query('i'), `${query('i')}00`],
    [query('p'), `${query('p')}11223344`],
    [ASKS, '1a1234'],
    [RETURNS, '1900'],
    ['d1', 'e300000000'],
  ]);
  await server.ask('udp', [
    [query('i'), query('i')],
    [`${query('p')}11223344`, query('p')],
    [ASKS, '1a'],
  ]);
  assert.deepEqual(await server.validated(), [], 'a cookie validates no source');
  await server.ask('udp', [[ASKS, '1a'], [RETURNS, '1900'], ...PLAYING]);
  assert.equal((await server.validated()).length, 1);
  assert.deepEqual(await server.dropped(), {});
  await server.assertFloodsDropped();
});
