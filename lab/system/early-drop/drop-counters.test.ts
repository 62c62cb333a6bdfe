import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { NamedDevices } from '@portcullis/edge/host/devices.ts';
import { createHost } from '@portcullis/edge/host/host.ts';
import { openCounterReader } from '@portcullis/dataplane/nftables/elements/counter-reader.ts';
import { compilePolicy } from '@portcullis/dataplane/nftables/policy/compile.ts';
import { NftablesDrops } from '@portcullis/dataplane/nftables/elements/drop-source.ts';
import { createLibraryDriver } from '@portcullis/dataplane/nftables/library.ts';
import { planLayout } from '@portcullis/dataplane/nftables/table/layout.ts';
import { renderWhole } from '@portcullis/dataplane/nftables/table/render.ts';
import { opening } from '@portcullis/edge/testing/control.ts';
import { edgeRules } from '@portcullis/dataplane/testing/policies.ts';
import { type Namespace, Network } from '../../stack/netns.ts';
import { missing } from '../../requirements.ts';

const lacking = missing(['root', 'netns', 'nft', 'python3']);
if (lacking !== null && process.env['PORTCULLIS_TEST_REQUIRE'] === 'all') {
  throw new Error(`these tests may not be skipped here, and cannot run: ${lacking}`);
}

const [SHUT, OPEN, GEO, SHUT6] = ['203.0.113.10', '203.0.113.11', '203.0.113.12', '2001:db8:5::10'];
const SENDER = '192.0.2.2';
/** More than the edge counts individually. */
const FLOOD = 60_000;

describe('drops counted by nftables', { skip: lacking ?? false }, () => {
  const network = new Network('drops');
  let sender: Namespace;
  let edge: Namespace;
  let drops: NftablesDrops;

  before(async () => {
    sender = network.create('sender');
    edge = network.create('edge');
    const a = { device: 'eth0', addresses: [`${SENDER}/24`, '2001:db8:c::2/64'] };
    const b = { device: 'wan', addresses: ['192.0.2.1/24', '2001:db8:c::1/64'] };
    network.join(sender, a, edge, b);
    for (const via of ['192.0.2.1', '2001:db8:c::1'])
      sender.run('ip', 'route', 'add', 'default', 'via', via);
    // A host whose neighbour is unresolved sends later than it reports.
    const [link] = JSON.parse(edge.run('ip', '-j', 'link', 'show', 'wan')) as { address: string }[];
    for (const via of ['192.0.2.1', '2001:db8:c::1'])
      sender.run('ip', 'neigh', 'replace', via, 'lladdr', link?.address ?? '', 'dev', 'eth0');
    const geo: Policy = {
      ...opening(GEO, 1),
      // No other rule denies: otherwise the geo rule would change no verdict and be left out.
      rules: [],
      geo: [{ ref: 'geo-rule:1', action: 'deny', sets: ['country:XX'] }],
    };
    const policies = [opening(SHUT, 80), opening(SHUT6, 80), geo].map((one) => compilePolicy(one));
    const layout = planLayout(edgeRules(), new Map(policies.map((one) => [one.target, one])), {
      version: '1',
      sets: { 'country:XX': ['192.0.2.0/24'] },
    });
    await edge.within(() => createLibraryDriver()).apply(renderWhole(layout).text);
    drops = new NftablesDrops(() => edge.within(openCounterReader));
    assert.deepEqual((await drops.read()).entries, []);
  });
  after(() => {
    drops.close();
    network.destroy();
  });

  /** UDP datagrams of 28 header bytes and one content byte, each from its own socket. */
  const send = (to: string, count: number): string =>
    sender.run('bash', '-c', `for i in $(seq ${count}); do echo -n x > /dev/udp/${to}/53; done`);

  it('are reported by address and reason, in both families, and once', async () => {
    send(SHUT, 12);
    send(OPEN, 5);
    send(GEO, 3);
    send(SHUT6, 7);
    const { entries, samples } = await drops.read();
    assert.deepEqual(samples, []);
    const policy = { stage: 'policy', by: 'nftables' } as const;
    assert.deepEqual(
      entries.toSorted((one, other) => one.packets - other.packets),
      [
        { target: GEO, ...policy, reason: 'geo', packets: 3, bytes: 3 * 29 },
        { target: SHUT6, ...policy, reason: 'denied', packets: 7, bytes: 7 * 49 },
        { target: SHUT, ...policy, reason: 'denied', packets: 12, bytes: 12 * 29 },
      ],
    );
    assert.deepEqual((await drops.read()).entries, []);
  });

  it('of a flood are all reported, though only some are counted by address', async () => {
    const begin = performance.now();
    // One socket at full speed sends well above the number counted in a second.
    sender.run(
      'python3',
      '-c',
      `import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(('${SHUT}', 53))
for i in range(${FLOOD}): s.send(b'x')`,
    );
    const counted = edge.run('nft', 'list', 'set', 'inet', 'portcullis', 'dropped_denied4');
    const exact = Number(/counter packets (\d+)/.exec(counted)?.[1] ?? 0);
    const seconds = (performance.now() - begin) / 1000;
    assert.ok(exact > 0 && exact <= 200 + 2_000 * seconds, `${counted} in ${seconds} s`);
    // Must be listable: old versions of nft abort on some keys of such sets.
    edge.run('nft', 'list', 'set', 'inet', 'portcullis', 'drops_used_up');
    const { entries } = await drops.read();
    assert.deepEqual(
      entries.map(({ target, packets, bytes }) => [target, packets, bytes]),
      [[SHUT, FLOOD, FLOOD * 29]],
    );
  });

  it('are those packets too whose verdict is missing: such an address is not open', async () => {
    edge.run('nft', 'flush', 'map', 'inet', 'portcullis', 'verdicts_address');
    send(SHUT, 4);
    send(OPEN, 2);
    const { entries } = await drops.read();
    assert.deepEqual(
      entries.map(({ target, packets }) => [target, packets]),
      [[SHUT, 4]],
    );
  });

  it('are none where the table is gone, and begin anew with another', async () => {
    edge.run('nft', 'delete', 'table', 'inet', 'portcullis');
    assert.deepEqual((await drops.read()).entries, []);
  });

  it('come in by devices whose kinds the edge tells apart', () => {
    edge.run('ip', 'link', 'add', 'br0', 'type', 'bridge');
    const names = ['br0', 'wan', 'gone'];
    // Devices are those of the namespace; /sys belongs to the namespace in which this process started.
    const host = { ...createHost(), devices: () => ['br0', 'wan'], masterOf: () => null };
    const devices = new NamedDevices(host);
    const kinds = edge.within(() => devices.describe(names, null)).map(({ kind }) => kind);
    assert.deepEqual(kinds, ['bridge', 'veth', 'other']);
  });
});
