import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CONFIG_VARIABLE,
  type NodeConfig,
  parseNetworks,
  readConfig,
  parseFilesServed,
} from './config.ts';

const CONFIG: NodeConfig = {
  name: 'node-1',
  linkPath: '/run/portcullis/nodes.sock',
  credential: 'secret',
  stateDir: '/var/lib/portcullis/node',
  engine: 'docker',
  dockerHost: 'unix:///var/run/docker.sock',
  imagePull: 'missing',
  closedNetworks: ['10.0.0.0/8', '2001:db8::/32'],
  openNetworks: ['192.168.7.0/24'],
  mounts: [{ path: '/srv/maps', readOnly: true }],
  accounts: { first: 300_000, last: 300_999 },
  sftp: null,
  files: null,
  onStop: 'end',
};
const read = (value: unknown) => readConfig({ [CONFIG_VARIABLE]: JSON.stringify(value) });

test('accepts a complete configuration', () => {
  assert.deepEqual(read(CONFIG), CONFIG);
});

test('names missing or wrong fields without their values, because the credential is a secret', () => {
  assert.throws(() => readConfig({}), /PORTCULLIS_NODE_CONFIG/);
  for (const name of Object.keys(CONFIG)) {
    assert.throws(
      () => read({ ...CONFIG, [name]: '' }),
      (error: Error) => {
        assert.doesNotMatch(error.message, /secret/);
        return error.message.includes(name);
      },
    );
  }
  assert.throws(
    () => read({ ...CONFIG, engine: 'podman' }),
    /engine is not one of docker, process/,
  );
  assert.throws(() => read(7), /object/);
});

test('accepts only canonical networks as closed networks, because they become part of a script', () => {
  assert.deepEqual(parseNetworks(' 10.0.0.0/8, 2001:DB8:0::/32,192.0.2.1,'), [
    '10.0.0.0/8',
    '2001:db8::/32',
    '192.0.2.1',
  ]);
  for (const wrong of ['10.0.0.1/8', 'example.net', '10.0.0.0/8 }; add rule'])
    assert.throws(() => read({ ...CONFIG, closedNetworks: [wrong] }), /network is invalid/);
});

test('links to files are served on loopback or a private address alone, for a URL with TLS', () => {
  const url = 'https://files.node1.example';
  const NONE = { listen: null, url: null, cert: null, key: null };
  assert.equal(parseFilesServed(NONE), null);
  const place = { host: '127.0.0.1', port: 8443, url: `${url}/`, tls: null };
  assert.deepEqual(parseFilesServed({ ...NONE, listen: '127.0.0.1:8443', url }), place);
  const tls = { cert: '/a.crt', key: '/a.key' };
  const open = parseFilesServed({ listen: '443', url, ...tls });
  assert.deepEqual(open, { host: '::', port: 443, url: `${url}/`, tls });
  for (const wrong of [
    { listen: 'off', url },
    { url },
    { listen: '127.0.0.1:80' },
    { listen: '127.0.0.1:80', url, cert: '/a.crt' },
    { listen: '443', url },
    { listen: '192.0.2.1:80', url },
    { listen: '[::]:80', url },
    { listen: '127.0.0.1:80', url: 'http://files.node1.example' },
    { listen: '127.0.0.1:80', url: 'https://a:b@files.node1.example' },
    { listen: '127.0.0.1:80', url: `${url}/?a` },
  ])
    assert.throws(() => parseFilesServed({ ...NONE, ...wrong }), JSON.stringify(wrong));
});
