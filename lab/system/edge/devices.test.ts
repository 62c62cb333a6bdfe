import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { edgeStatus } from '../../stack/edge-status.ts';
import { CLIENT, EDGE_DEVICE, HOST, SERVER } from '../../stack/internet.ts';
import { addAddress, setRoute } from '../../stack/netns.ts';
import { missing } from '../../requirements.ts';
import { defaultFleet } from '../../stack/stack.ts';
import { attachedMode } from '../early-drop/attached.ts';
import {
  startStackFixture,
  eventually,
  type StackFixture,
  packet,
  whyNot,
} from '../stack-fixture.ts';

const lacking = whyNot() || missing(['bpf']);
if (lacking !== null && process.env['PORTCULLIS_TEST_REQUIRE'] === 'all') {
  throw new Error(`these tests may not be skipped here, and cannot run: ${lacking}`);
}

const [DENIED, OPEN] = [19, 27_016];

interface ShownDevice {
  readonly name: string;
  readonly kind: string;
  readonly xdp: string;
  readonly reason: string | null;
  readonly master: string | null;
}

let fixture: StackFixture;

/** Device arrangements of real hosts, built on the edge's one uplink while it enforces. */
describe('the devices of an edge', { skip: lacking ?? false }, () => {
  before(async () => {
    fixture = await startStackFixture('devices');
    const { api } = fixture.stack;
    const deny = { action: 'deny', protocol: 'udp', destination_port: String(DENIED) } as const;
    await api.createRule(SERVER[4], deny);
    await api.createRule(HOST[4], deny);
  });
  after(() => fixture.stop());

  it('are left alone below a macvlan that is not named, and said to be: nftables judges', async () => {
    const { edge } = fixture.internet;
    edge.run('ip', 'link', 'add', 'mv0', 'link', EDGE_DEVICE, 'type', 'macvlan', 'mode', 'bridge');
    edge.run('ip', 'link', 'set', 'mv0', 'up');
    await eventually('it is off', async () => attachedMode(edge) === null);
    await assertVerdicts();
    await shown(
      ([wan]) =>
        wan?.xdp === 'none' && /mv0 is on top of it and is not protected/.test(wan.reason ?? ''),
    );
  });

  it('have one program below a macvlan that is named too', async () => {
    const { edge } = fixture.internet;
    await name(EDGE_DEVICE, 'mv0');
    await eventually('it is on', async () => attachedMode(edge) === 'native');
    assert.equal(attachedMode(edge, 'mv0'), null);
    await assertVerdicts();
    const reported = await shown((devices) => devices.every(({ xdp }) => xdp === 'native'));
    assert.deepEqual(
      reported.map(({ name: device, reason }) => [device, reason]),
      [
        [EDGE_DEVICE, null],
        ['mv0', `its packets are evaluated on ${EDGE_DEVICE}`],
      ],
    );
    edge.run('ip', 'link', 'del', 'mv0');
    await name(EDGE_DEVICE);
  });

  it('keep their program below a tunnel, whose packets come wrapped, and which has its own where it is named', async () => {
    const { edge } = fixture.internet;
    const upon = ['dev', EDGE_DEVICE, 'dstport', '4789', 'remote', CLIENT[4]] as const;
    edge.run('ip', 'link', 'add', 'vx0', 'type', 'vxlan', 'id', '7', ...upon);
    edge.run('ip', 'link', 'set', 'vx0', 'up');
    // Adds and removes another device so that the agent looks while the tunnel exists.
    edge.run('ip', 'link', 'add', 'mv0', 'link', EDGE_DEVICE, 'type', 'macvlan', 'mode', 'bridge');
    await eventually('it is off', async () => attachedMode(edge) === null);
    edge.run('ip', 'link', 'del', 'mv0');
    await eventually('it is on', async () => attachedMode(edge) === 'native');
    await assertVerdicts();
    await name(EDGE_DEVICE, 'vx0');
    await eventually('it is on the tunnel', async () => attachedMode(edge, 'vx0') === 'tc');
    assert.equal(attachedMode(edge), 'native');
    const reported = await shown(([, upper]) => upper?.name === 'vx0' && upper.xdp === 'tc');
    assert.deepEqual(
      reported.map(({ name: device, xdp }) => [device, xdp]),
      [
        [EDGE_DEVICE, 'native'],
        ['vx0', 'tc'],
      ],
    );
    edge.run('ip', 'link', 'del', 'vx0');
    await name(EDGE_DEVICE);
  });

  it('are a bridge and none of its ports', async () => {
    const { edge } = fixture.internet;
    await name(EDGE_DEVICE, 'br0');
    edge.run('ip', 'link', 'add', 'br0', 'type', 'bridge', 'stp_state', '0', 'forward_delay', '0');
    edge.run('ip', 'address', 'flush', 'dev', EDGE_DEVICE);
    edge.run('ip', 'link', 'set', EDGE_DEVICE, 'master', 'br0');
    edge.run('ip', 'link', 'set', 'br0', 'up');
    addAddress(edge, 'br0', '192.0.2.1/24');
    setRoute(edge, 'default', CLIENT[4]);
    await eventually('it is on the bridge', async () => attachedMode(edge, 'br0') !== null);
    await eventually('it is off the port', async () => attachedMode(edge) === null);
    await assertVerdicts();
    // A report may be of the moment between: on the bridge, and not off the port yet.
    const [wan, bridge] = await shown(
      ([port, upper]) => port?.xdp === 'none' && upper?.name === 'br0' && upper.xdp === 'tc',
    );
    assert.deepEqual([wan?.xdp, wan?.master], ['none', 'br0']);
    assert.match(wan?.reason ?? '', /nothing enters by a port/);
    assert.deepEqual([bridge?.kind, bridge?.xdp], ['bridge', attachedMode(edge, 'br0')]);
  });
});

async function name(...devices: readonly string[]): Promise<void> {
  const fleet = defaultFleet().replace(`devices: [${EDGE_DEVICE}]`, `devices: [${devices.join()}]`);
  await fixture.stack.applyFleet(fleet);
}

/** The view as control shows them after it has received them. */
async function shown(
  heard: (devices: readonly ShownDevice[]) => boolean,
): Promise<readonly ShownDevice[]> {
  let devices: readonly ShownDevice[] = [];
  await eventually(
    'control has heard',
    async () => {
      devices = (await edgeStatus(fixture.stack)).report?.devices ?? [];
      return heard(devices);
    },
    40_000,
  );
  return devices;
}

async function assertVerdicts(): Promise<void> {
  for (const [path, destination] of [
    [fixture.through, SERVER[4]],
    [fixture.toHost, HOST[4]],
  ] as const) {
    const passes = (destinationPort: number): Promise<boolean> =>
      path.passes(packet(4, 'udp', { destination, destinationPort }));
    assert.deepEqual([await passes(DENIED), await passes(OPEN)], [false, true]);
  }
}
