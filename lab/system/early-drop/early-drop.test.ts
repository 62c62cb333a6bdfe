import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { edgeStatus } from '../../stack/edge-status.ts';
import { CLIENT, EDGE_DEVICE, SERVER, settleUplink } from '../../stack/internet.ts';
import { missing } from '../../requirements.ts';
import { attachedMode, detachAll, pinsOf } from './attached.ts';
import {
  startStackFixture,
  eventually,
  type StackFixture,
  packet,
  takesOver,
  whyNot,
} from '../stack-fixture.ts';

const OPEN_PORT = 27_016;
const REPAIRED_MS = 15_000;

const lacking = whyNot() || missing(['bpf']);
if (lacking !== null && process.env['PORTCULLIS_TEST_REQUIRE'] === 'all') {
  throw new Error(`these tests may not be skipped here, and cannot run: ${lacking}`);
}

let fixture: StackFixture;

describe('early drop on the wire', { skip: lacking ?? false }, () => {
  before(async () => {
    fixture = await startStackFixture('early-drop');
    const { api } = fixture.stack;
    for (const family of [4, 6] as const) {
      await api.createRule(SERVER[family], { action: 'deny', protocol: 'any' });
      const open = { protocol: 'udp', destination_port: String(OPEN_PORT) };
      await api.createRule(SERVER[family], { action: 'allow', ...open });
    }
  });
  after(() => fixture.stop());

  it('attaches in the driver where the driver can, and says so', async () => {
    assert.equal(attachedMode(fixture.internet.edge), 'native');
    await eventually('control knows the mode', async () => {
      const { report } = await edgeStatus(fixture.stack);
      return report?.devices[0]?.xdp === 'native';
    });
  });

  it('continues to drop and pass without any process and without our table', async () => {
    await fixture.stack.killAll();
    fixture.internet.edge.run('nft', 'delete', 'table', 'inet', 'portcullis');
    await assertVerdicts();
    await fixture.stack.start('--enforce');
    await takesOver(fixture.stack);
    await assertVerdicts();
  });

  it('is attached again within two seconds after another process detaches it', async (t) => {
    // The agent polls four times a second and may have been faster than this test.
    await eventually('it is off', async () => {
      detachAll(fixture.stack);
      return attachedMode(fixture.internet.edge) === null;
    });
    const begin = performance.now();
    await eventually(
      'attached again',
      async () => attachedMode(fixture.internet.edge) === 'native',
    );
    const tookMs = performance.now() - begin;
    t.diagnostic(`after ${tookMs} ms`);
    assert.ok(tookMs < REPAIRED_MS);
    await assertVerdicts();
  });

  it('stays on a device that is renamed and named again', async () => {
    const { edge } = fixture.internet;
    // A SYN is dropped also while the early drop still learns open flows, since the previous test.
    const dropsSyns = async (): Promise<boolean> =>
      !(await fixture.through.passes(packet(4, 'tcp')));
    edge.run('ip', 'link', 'set', EDGE_DEVICE, 'name', 'elsewhere');
    assert.equal(await dropsSyns(), true);
    assert.equal(attachedMode(edge, 'elsewhere'), 'native');
    edge.run('ip', 'link', 'set', 'elsewhere', 'name', EDGE_DEVICE);
    await eventually(
      'attached by its name',
      async () => attachedMode(fixture.internet.edge) === 'native',
    );
    assert.equal(await dropsSyns(), true);
  });

  it('leaves a device that moves to another network namespace, and is on it when it comes back', async () => {
    const { edge, container } = fixture.internet;
    edge.run('ip', 'link', 'set', EDGE_DEVICE, 'netns', container.name);
    try {
      await eventually('it is off', async () => attachedMode(container) === null);
    } finally {
      container.run('ip', 'link', 'set', EDGE_DEVICE, 'netns', edge.name);
    }
    const begin = performance.now();
    edge.run('ip', 'link', 'set', EDGE_DEVICE, 'up');
    settleUplink(edge);
    await eventually('it is back', async () => attachedMode(edge) === 'native');
    assert.ok(performance.now() - begin < REPAIRED_MS);
    await assertVerdicts();
  });

  it('passes replies to what left by a device that is not named', async (t) => {
    const { through, client, server, internet } = fixture;
    leaveElsewhere();
    t.after(() => internet.edge.run('ip', 'link', 'del', 'out'));
    const question = {
      protocol: 'udp',
      source: SERVER[4],
      destination: CLIENT[4],
      destinationPort: 5353,
    } as const;
    const [{ ifindex }] = JSON.parse(internet.edge.run('ip', '-json', 'link', 'show', 'out')) as [
      { readonly ifindex: number },
    ];
    await eventually('it is watched', async () =>
      readdirSync(pinsOf(fixture.stack)).includes(`egress-${ifindex}`),
    );
    for (const sourcePort of [46_001, 46_002]) {
      await client.arrival(await server.send({ ...question, sourcePort }));
      const reply = packet(4, 'udp', { sourcePort: 5353, destinationPort: sourcePort });
      assert.equal(await through.passes(reply), true);
    }
  });

  it('passes replies to what the protected side opened, also before the edge was switched on', async () => {
    const { stack, through, client, server, internet } = fixture;
    // Without our table, connections are tracked only if another table needs it.
    internet.edge.run(
      'nft',
      'table inet other { chain c { type filter hook input priority 0; ct state new; }; }',
    );
    for (const family of [4, 6] as const) {
      const fromServer = {
        protocol: 'udp',
        source: SERVER[family],
        destination: CLIENT[family],
        destinationPort: 5353,
      } as const;
      const reply = (port: number) =>
        packet(family, 'udp', { sourcePort: 5353, destinationPort: port });
      await stack.command('edge', 'off');
      await client.arrival(await server.send({ ...fromServer, sourcePort: 45_001 }));
      await stack.command('edge', 'on');
      await eventually('enforced', async () => !(await through.passes(packet(family, 'udp'))));
      await client.arrival(await server.send({ ...fromServer, sourcePort: 45_002 }));
      for (const port of [45_001, 45_002]) assert.equal(await through.passes(reply(port)), true);
      assert.equal(await through.passes(reply(45_003)), false);
    }
  });
});

/**
 * A second uplink of the edge host that is not in its device list: replies to what leaves by it return by the first.
 */
function leaveElsewhere(): void {
  const { edge, client } = fixture.internet;
  edge.run('ip', 'link', 'add', 'out', 'type', 'veth', 'peer', 'name', 'in2', 'netns', client.name);
  edge.run('ip', 'address', 'add', '192.0.3.1/24', 'dev', 'out');
  edge.run('ip', 'link', 'set', 'out', 'up');
  client.run('ip', 'address', 'add', '192.0.3.2/24', 'dev', 'in2');
  client.run('ip', 'link', 'set', 'in2', 'up');
  for (const one of ['all', 'in2'])
    client.run('sysctl', '-q', '-w', `net.ipv4.conf.${one}.rp_filter=0`);
  edge.run('ip', 'route', 'add', `${CLIENT[4]}/32`, 'via', '192.0.3.2');
}

async function assertVerdicts(): Promise<void> {
  const { through } = fixture;
  for (const family of [4, 6] as const) {
    assert.equal(await through.passes(packet(family, 'udp')), false);
    const open = packet(family, 'udp', { destinationPort: OPEN_PORT });
    assert.equal(await through.passes(open), true);
  }
}
