import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FilteredServer } from '../filtered-server.ts';

/** https://github.com/ReSpeak/tsdeclarations/blob/master/ts3protocol.md */
const MARK = Buffer.from('TS3INIT1').toString('hex');
const step = (number: string, length: number): string =>
  `${MARK}006500008806e8f3a1${number}`.padEnd(length * 2, '0');
const answer = (number: string): string => `${MARK}006588${number}`.padEnd(64, '0');
const COMMAND = `${'ab'.repeat(8)}000022${'cd'.repeat(40)}`;
const VOICE = `${'ab'.repeat(8)}0001000300${'ef'.repeat(80)}`;

test('teamspeak3 lets a client in that solved the puzzle, and no flood', async (t) => {
  const server = FilteredServer.create(t, 'teamspeak3', 9987);
  if (server === null) return;
  await server.filter();
  await server.answer('udp', [
    [step('00', 18).slice(0, 36), answer('01')],
    [step('02', 18).slice(0, 36), answer('03')],
    [step('04', 18).slice(0, 36), COMMAND],
    ['ab'.repeat(8), `${'ab'.repeat(8)}000100${'01'.repeat(80)}`],
  ]);
  await server.ask('udp', [
    [step('00', 34), answer('01')],
    [step('02', 38), answer('03')],
  ]);
  assert.deepEqual(await server.validated(), [], 'a puzzle validates no source');
  const talking = Array.from({ length: 60 }, (): [string, string] => [VOICE, 'ab']);
  await server.ask('udp', [[step('04', 380), COMMAND], ...talking]);
  assert.equal((await server.validated()).length, 1);
  assert.deepEqual(await server.dropped(), {});
  await server.assertFloodsDropped();
});
