import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FilteredServer } from '../filtered-server.ts';

test('dns answers queries on UDP and TCP, and nothing else', async (t) => {
  const server = FilteredServer.create(t, 'dns', 53, ['dns']);
  if (server === null) return;
  await server.filter();
  const configuration = server.file(
    'unbound.conf',
    `server:
  interface: ${server.address}
  access-control: 0.0.0.0/0 allow
  do-daemonize: no
  username: ""
  chroot: ""
  pidfile: ""
  use-syslog: no
  local-data: "lab.example. 60 IN A 192.0.2.9"
remote-control:
  control-enable: no
`,
  );
  server.start('/usr/sbin/unbound', '-d', '-c', configuration);
  const dig = ['dig', '+short', '+tries=1', '+time=2', `@${server.address}`, 'lab.example', 'A'];
  assert.equal((await server.runUntilDone(...dig)).trim(), '192.0.2.9');
  assert.equal((await server.run(...dig, '+tcp')).trim(), '192.0.2.9');
  assert.deepEqual(await server.validated(), [], 'an answer does not validate');
  await server.assertFloodsDropped();
  await server.assertBadOpeningDropped();
});
