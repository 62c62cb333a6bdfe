import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FilteredServer } from '../filtered-server.ts';

/** https://minecraft.wiki/w/RakNet */
const MAGIC = '00ffff00fefefefefdfdfdfd12345678';
const TIME = '0000000000000001';
const GUID = '1122334455667788';
const PING = `01${TIME}${MAGIC}${GUID}`;
const PONG = `1c${TIME}${GUID}${MAGIC}0000`;
/** Padded to the MTU that it tries. */
const FIRST_REQUEST = `05${MAGIC}0b${'00'.repeat(1428)}`;
const FIRST_REPLY = `06${MAGIC}${GUID}0005b4`;
const SECOND_REQUEST = `07${MAGIC}048034fe8e4abc05b4${GUID}`;
const SECOND_REPLY = `08${MAGIC}${GUID}043fffffff80e805b400`;

test('minecraft-bedrock answers pings and lets a player in, and no flood', async (t) => {
  const server = FilteredServer.create(t, 'minecraft-bedrock', 19_132);
  if (server === null) return;
  await server.filter();
  await server.answer('udp', [
    [PING, PONG],
    [`05${MAGIC}`, FIRST_REPLY],
    [`07${MAGIC}`, SECOND_REPLY],
    ['84', `c0000100${'00'.repeat(3)}`],
  ]);
  await server.ask('udp', [[PING, '1c']]);
  assert.deepEqual(await server.validated(), []);
  const frames = Array.from({ length: 60 }, (): [string, string] => [
    '840000004000900000000009',
    'c0',
  ]);
  await server.ask('udp', [
    [FIRST_REQUEST, '06'],
    [SECOND_REQUEST, '08'],
    ...frames,
    // Acknowledges, and loses.
    ['c00001010000000000', null],
    ['a00001010000000000', null],
  ]);
  assert.equal((await server.validated()).length, 1);
  assert.deepEqual(await server.dropped(), {});
  await server.assertFloodsDropped();
});
