import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FilteredServer } from '../filtered-server.ts';

/** http://enet.bespin.org/ and its protocol.h; `getinfo` is of the Quake III engine. */
const GETINFO = `ffffffff${Buffer.from('getinfo abc').toString('hex')}`;
const INFO = `ffffffff${Buffer.from('infoResponse').toString('hex')}`;
const CONNECT = `8fff123482ff0001${'00'.repeat(44)}`;
// Its time begins with the number of an acknowledgement: it must not be taken for one.
const VERIFY = `8000012383ff0001${'00'.repeat(36)}`;
const ACKNOWLEDGES = `000001ff000100011234`;
const PING = '80001234850000020000';
const DATA = `80011234860000010004aabbccdd`;

test('fivem answers queries, lets a player in by ENet, and no flood', async (t) => {
  const server = FilteredServer.create(t, 'fivem', 30_120);
  if (server === null) return;
  await server.filter();
  await server.answer('udp', [
    [GETINFO, INFO],
    ['8fff', VERIFY],
    ['000001ff', PING],
    ['8001', `00000100000100011234`],
  ]);
  await server.ask('udp', [
    [GETINFO, INFO],
    [CONNECT, VERIFY],
  ]);
  assert.deepEqual(await server.validated(), [], 'its verification is sent to forged sources too');
  const playing = Array.from({ length: 60 }, (): [string, string] => [DATA, '0000']);
  await server.ask('udp', [[CONNECT, VERIFY], [ACKNOWLEDGES, PING], ...playing]);
  assert.equal((await server.validated()).length, 1);
  assert.deepEqual(await server.dropped(), {});
  await server.assertFloodsDropped();
});

test('fivem serves HTTP on its TCP port, and nothing else', async (t) => {
  const server = FilteredServer.create(t, 'fivem', 30_120);
  if (server === null) return;
  await server.filter();
  const request = Buffer.from('GET /info.json HTTP/1.1\r\n\r\n').toString('hex');
  const reply = Buffer.from('HTTP/1.1 200 OK\r\n\r\n').toString('hex');
  await server.answer('tcp', [[request, reply]]);
  await server.ask('tcp', [[request, reply]]);
  await server.assertBadOpeningDropped();
});
