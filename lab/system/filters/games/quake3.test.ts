import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FilteredServer } from '../filtered-server.ts';

/** https://github.com/id-Software/Quake-III-Arena/blob/master/code/server/sv_main.c */
const said = (text: string): string => `ffffffff${Buffer.from(text).toString('hex')}`;

test('quake3 answers queries and lets a player in by its challenge, and no flood', async (t) => {
  const server = FilteredServer.create(t, 'quake3', 27_960);
  if (server === null) return;
  await server.filter();
  await server.answer('udp', [
    [said('getstatus'), said('statusResponse\n')],
    [said('getinfo'), said('infoResponse\n')],
    [said('getchallenge'), said('challengeResponse 42')],
    [said('connect "\\challenge\\42\\'), said('connectResponse')],
    ['01000000', '01000000'],
  ]);
  await server.ask('udp', [
    [said('getstatus'), said('statusResponse')],
    [said('getinfo xxx'), said('infoResponse')],
  ]);
  assert.deepEqual(await server.validated(), [], 'a status needs no challenge');
  const playing = Array.from({ length: 60 }, (): [string, string] => ['01000000aabb', '01000000']);
  await server.ask('udp', [
    [said('getchallenge'), said('challengeResponse')],
    [said('connect "\\challenge\\42\\qport\\1"'), said('connectResponse')],
    ...playing,
  ]);
  assert.equal((await server.validated()).length, 1);
  assert.deepEqual(await server.dropped(), {});
  await server.assertFloodsDropped();
});
