import { test } from 'node:test';
import { confineSshd } from '../../../stack/sshd.ts';
import { FilteredServer } from '../filtered-server.ts';

test('ssh passes the version of a client, and no other opening', async (t) => {
  const server = FilteredServer.create(t, 'ssh', 22, ['sshd']);
  if (server === null) return;
  await server.filter();
  const key = server.file('host-key', '');
  await server.run('sh', '-c', `rm ${key} && ssh-keygen -q -t ed25519 -N '' -f ${key}`);
  const config = server.file('sshd_config', `ListenAddress ${server.address}\nHostKey ${key}\n`);
  confineSshd();
  server.start('/usr/sbin/sshd', '-D', '-f', config);
  // Its key is reported only after both versions and the key exchange.
  await server.runUntilDone('ssh-keyscan', '-T', '3', '-t', 'ed25519', server.address);
  await server.assertFloodsDropped();
  await server.assertBadOpeningDropped();
});
