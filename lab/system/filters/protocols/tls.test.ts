import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FilteredServer } from '../filtered-server.ts';

test('tls passes a ClientHello, and no other opening', async (t) => {
  const server = FilteredServer.create(t, 'tls', 443, ['nginx']);
  if (server === null) return;
  await server.filter();
  const [key, certificate] = [server.file('key.pem', ''), server.file('certificate.pem', '')];
  const subject = ['-subj', '/CN=lab', '-days', '2', '-nodes'];
  await server.run(
    'openssl',
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    ...subject,
    '-keyout',
    key,
    '-out',
    certificate,
  );
  const configuration = server.file(
    'nginx.conf',
    `daemon off; master_process off; user root; pid nginx.pid; error_log error.log;
     events {} http { access_log off; server { listen 443 ssl; ssl_certificate ${certificate};
     ssl_certificate_key ${key}; return 200 "served\\n"; } }`,
  );
  server.start('/usr/sbin/nginx', '-e', 'error.log', '-p', '.', '-c', configuration);
  const url = `https://${server.address}/`;
  assert.equal(await server.runUntilDone('curl', '-skf', url), 'served\n');
  await server.assertFloodsDropped();
  await server.assertBadOpeningDropped();
});
