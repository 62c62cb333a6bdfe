import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FilteredServer } from '../filtered-server.ts';

/** Mode 7, `monlist`: what a reflector is asked by. https://www.cve.org/CVERecord?id=CVE-2013-5211 */
const MONLIST = `1700032a${'00'.repeat(44)}`;

test('ntp tells clients the time, and no reflector anything', async (t) => {
  const server = FilteredServer.create(t, 'ntp', 123, ['chrony']);
  if (server === null) return;
  await server.filter();
  const configuration = server.file(
    'chrony.conf',
    `local stratum 5\nallow all\ncmdport 0\nbindcmdaddress /\npidfile ${server.file('pid', '')}\n`,
  );
  server.start('/usr/sbin/chronyd', '-d', '-x', '-u', 'root', '-f', configuration);
  const asked = `server ${server.address} iburst maxsamples 1`;
  const client = server.file('client.conf', `${asked}\ncmdport 0\nbindcmdaddress /\n`);
  // Reads the time, and sets nothing.
  await server.runUntilDone('/usr/sbin/chronyd', '-Q', '-t', '5', '-u', 'root', '-f', client);
  const before = (await server.dropped())['no-greeting'] ?? 0;
  await server.ask('udp', [[MONLIST, null]]);
  assert.equal((await server.dropped())['no-greeting'], before + 1);
  await server.assertFloodsDropped();
});
