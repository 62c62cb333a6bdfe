import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createGuard } from '@portcullis/node/engine/docker/network/guard.ts';
import { skipUnless } from '../../requirements.ts';
import {
  addAddress,
  addRoute,
  enableForwarding,
  type Namespace,
  Network,
} from '../../stack/netns.ts';
import { eventually } from '../../system/stack-fixture.ts';

const PORT = 9000;
const BRIDGE = 'pcn1';
const TABLE = 'portcullis_node_hostile';
const PUBLIC = ['1.1.1.1', '168.63.129.17', '198.17.255.255', '2606:4700::1111'];
/** The part of the list that a kernel forwards. */
const CLOSED = `
  168.63.129.16 192.0.0.192 100.100.100.200 169.254.169.254 198.18.0.1 198.19.255.254 10.1.2.3 172.31.0.1 192.168.9.9
  192.0.2.9 192.88.99.1 198.51.100.9 203.0.113.9 240.0.0.1 fd00:ec2::254 fd20:ce::254 64:ff9b::a83f:8110 64:ff9b:1::a00:1
  2002:a9fe:a9fe::1 2001:0:a00:1::1 2001:db8:9::1 3fff::9 5f00::9 4000::9
`
  .trim()
  .split(/\s+/);
const PATIENT_S = 20;
const SHORT_S = 2;

describe('a game behind the guard of a kernel', { skip: skipUnless(['netns', 'nft']) }, () => {
  const network = new Network('guard');
  let game: Namespace;
  let host: Namespace;
  const guard = (opened: readonly string[] = []) =>
    createGuard({ command: host.command('nft'), opened, resolvers: async () => [] });
  const plan = { table: TABLE, bridges: [BRIDGE], published: [] };

  before(async () => {
    game = network.create('game');
    host = network.create('host');
    const cloud = network.create('cloud');
    const gateway = { device: BRIDGE, addresses: ['172.20.0.1/24', 'fd11::1/64'] };
    network.join(host, gateway, game, {
      device: 'eth0',
      addresses: ['172.20.0.2/24', 'fd11::2/64'],
    });
    const wan = { device: 'wan', addresses: ['100.127.0.1/30', 'fd12::1/64'] };
    network.join(host, wan, cloud, { device: 'eth0', addresses: ['100.127.0.2/30', 'fd12::2/64'] });
    for (const [from, via] of [
      [game, ['172.20.0.1', 'fd11::1']],
      [cloud, ['100.127.0.1', 'fd12::1']],
      [host, ['100.127.0.2', 'fd12::2']],
    ] as const) {
      for (const gateway of via) addRoute(from, 'default', gateway);
    }
    for (const address of [...PUBLIC, ...CLOSED]) addAddress(cloud, 'eth0', address);
    enableForwarding(host);
    const listen = ['busybox', 'nc', '-ll', '-p', String(PORT), '-e', 'echo', 'hello'];
    cloud.spawn(listen, { stdio: 'ignore' });
    await eventually('the cloud answers', async () => reached(host, ['1.1.1.1'], 1).length === 1);
  });
  after(() => network.destroy());

  it('reaches the public internet, and no special-purpose network or address of a cloud, by IPv4 and IPv6', async () => {
    const all = [...PUBLIC, ...CLOSED].toSorted();
    assert.deepEqual(reached(game, all, PATIENT_S), all, 'without a guard it reaches them');
    await guard().apply(plan);
    assert.deepEqual(reached(game, PUBLIC, PATIENT_S), PUBLIC.toSorted());
    assert.deepEqual(reached(game, CLOSED, SHORT_S), []);
  });

  it('reaches what the operator opened, and nothing private through a translation that he opened', async () => {
    const opened = ['198.18.0.0/16', '64:ff9b::/96', '2002::/16', 'fd00:ec2::/64'];
    await guard(opened).apply(plan);
    const open = ['198.18.0.1', 'fd00:ec2::254'];
    assert.deepEqual(reached(game, open, PATIENT_S), open);
    const others = CLOSED.filter((address) => !open.includes(address));
    assert.deepEqual(reached(game, others, SHORT_S), []);
  });
});

/** The addresses that answer a connection, tried concurrently, sorted. */
function reached(from: Namespace, addresses: readonly string[], seconds: number): string[] {
  const attempt = (address: string): string =>
    `(busybox nc -w ${seconds} ${address} ${PORT} </dev/null 2>/dev/null | grep -q hello && echo ${address}) &`;
  const output = from.run('sh', '-c', `${addresses.map(attempt).join('\n')}\nwait`);
  return output.split('\n').filter(Boolean).toSorted();
}
