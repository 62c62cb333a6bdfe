import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TEST_CERTIFICATE } from '@portcullis/control/testing/certificate.ts';
import { FilteredServer } from '../filtered-server.ts';

test('openvpn connects a client by TLS on UDP and on TCP, and no flood', async (t) => {
  const server = FilteredServer.create(t, 'openvpn', 1194, ['openvpn']);
  if (server === null) return;
  await server.filter();
  const certificate = server.file('certificate.pem', TEST_CERTIFICATE.cert);
  const key = server.file('key.pem', TEST_CERTIFICATE.key);
  const common = [
    '--dev',
    'null',
    '--verb',
    '3',
    '--ca',
    certificate,
    '--cert',
    certificate,
    '--key',
    key,
  ];
  const program = '/usr/sbin/openvpn';
  const port = ['--port', '1194'];
  server.start(program, ...common, ...port, '--proto', 'udp', '--tls-server', '--dh', 'none');
  server.start(
    program,
    ...common,
    ...port,
    '--proto',
    'tcp-server',
    '--tls-server',
    '--dh',
    'none',
  );
  for (const proto of ['udp', 'tcp-client']) {
    const options = [
      '--tls-client',
      '--nobind',
      '--proto',
      proto,
      '--remote',
      server.address,
      '1194',
    ];
    const client = [program, ...common, ...options].join(' ');
    await server.runUntilDone(
      'sh',
      '-c',
      `timeout 10 ${client} | grep -m 1 'Initialization Sequence Completed'`,
    );
  }
  assert.equal((await server.validated()).length, 1);
  assert.deepEqual(await server.dropped(), {});
  await server.assertFloodsDropped();
  await server.assertBadOpeningDropped();
});
