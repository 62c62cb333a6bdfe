import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FilteredServer } from '../filtered-server.ts';

const PORT = 64_738;
/** https://mumble-protocol.readthedocs.io/: the ping of server lists, and its answer of 24 bytes. */
const PING = `00000000${'01'.repeat(8)}`;
/** Four bytes of a tag and counter, then what is encrypted: a ping, and voice. */
const ENCRYPTED_PING = `a1b2c3d4${'55'.repeat(6)}`;
const VOICE = `a1b2c3d4${'66'.repeat(90)}`;

test('mumble answers lists and lets clients in by TLS, by its own server', async (t) => {
  const server = FilteredServer.create(t, 'mumble', PORT, ['mumble']);
  if (server === null) return;
  await server.filter();
  const configuration = server.file(
    'mumble.ini',
    `database=${server.file('mumble.sqlite', '')}\nport=${PORT}\nhost=${server.address}\nbonjour=false\nlogfile=\nuname=root\n`,
  );
  server.start('/usr/sbin/murmurd', '-fg', '-ini', configuration);
  const hello = ['openssl', 's_client', '-brief', '-connect', `${server.address}:${PORT}`];
  await server.runUntilDone('sh', '-c', `${hello.join(' ')} </dev/null 2>&1 | grep ESTABLISHED`);
  await server.ask('udp', [[PING, '']]);
  assert.deepEqual(await server.validated(), [], 'every source is answered');
  assert.deepEqual(await server.dropped(), {});
  await server.assertFloodsDropped();
  await server.assertBadOpeningDropped();
});

test('mumble lets a client talk whose ping was answered', async (t) => {
  const server = FilteredServer.create(t, 'mumble', PORT);
  if (server === null) return;
  await server.filter();
  await server.answer('udp', [
    [ENCRYPTED_PING, `d4c3b2a1${'77'.repeat(6)}`],
    ['a1b2c3d4', `d4c3b2a1${'88'.repeat(90)}`],
  ]);
  const talking = Array.from({ length: 60 }, (): [string, string] => [VOICE, 'd4']);
  await server.ask('udp', [[ENCRYPTED_PING, 'd4'], ...talking]);
  assert.equal((await server.validated()).length, 1);
  assert.deepEqual(await server.dropped(), {});
});
