import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { SendResult } from '@portcullis/control/webhooks/send.ts';
import { skipUnless } from '../../requirements.ts';
import { addAddress, addRoute, type Namespace, Network } from '../../stack/netns.ts';

const SEND = new URL('testing/send-webhooks.ts', import.meta.url).pathname;

describe('a webhook of a tenant', { skip: skipUnless(['netns']) }, () => {
  const network = new Network('webhooks');
  let host: Namespace;
  before(() => {
    host = network.create('control');
    const outside = network.create('outside');
    network.join(host, { device: 'wan', addresses: ['9.9.8.1/24', '2620:fe::1/64'] }, outside, {
      device: 'eth0',
      addresses: ['9.9.8.2/24', '2620:fe::2/64'],
    });
    addRoute(host, 'default', '9.9.8.2');
    for (const address of ['9.9.9.200/32', '2620:fe:1::200/128']) addAddress(host, 'lo', address);
    // Linux delivers these here without an interface that has them.
    host.run('ip', 'route', 'add', 'local', '9.9.10.0/24', 'dev', 'lo');
  });
  after(() => network.destroy());

  it('does not reach public addresses of the host of control from inside, whatever they are of', () => {
    const hosts = ['9.9.8.1', '9.9.9.200', '9.9.10.77', '[2620:fe::1]', '[2620:fe:1::200]'];
    const output = host.run(process.execPath, SEND, ...hosts);
    const { reached, results } = JSON.parse(output) as { reached: string[]; results: SendResult[] };
    assert.deepEqual(reached, []);
    for (const { status, error, detail } of results) {
      assert.equal(status, null);
      assert.match(error ?? '', /^No answer within 1 s/);
      assert.match(detail ?? '', /may be reached/);
    }
  });
});
