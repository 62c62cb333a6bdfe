import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { EDGE_DEVICE, SENTINELS, SERVER } from '../../stack/internet.ts';
import { type Namespace, Network, addRoute } from '../../stack/netns.ts';
import { defaultFleet } from '../../stack/stack.ts';
import { Path } from '../../wire/path.ts';
import { Probe } from '../../wire/probe.ts';
import {
  startStackFixture,
  eventually,
  type StackFixture,
  packet,
  whyNot,
} from '../stack-fixture.ts';

/** A device that the edge gets later. */
const LATE = { device: 'late', edge: '198.18.9.1', client: '198.18.9.2' } as const;
const LAUNCHER = join(import.meta.dirname, '..', '..', '..', 'portcullis');
/** Long enough for two polls on a loaded machine. */
const TRIAL_MS = 30_000;
const EXPIRED_MS = 120_000;
const ON_TRIAL = ['--enforce', '--confirm-within', `${TRIAL_MS / 1000}s`] as const;

let fixture: StackFixture;
const network = new Network('trial-late');
const denied = (): ReturnType<typeof packet> => packet(4, 'udp');
const isDenied = async (): Promise<boolean> => !(await fixture.through.passes(denied()));

describe('an edge on trial', { skip: whyNot() }, () => {
  before(async () => {
    fixture = await startStackFixture('trial', { args: ON_TRIAL });
    await fixture.stack.api.createRule(SERVER[4], { action: 'deny', protocol: 'udp' });
  });
  after(async () => {
    await fixture.stop();
    network.destroy();
  });

  it('is disabled when its trial expires without confirmation, also when the agent was killed', async () => {
    const { stack } = fixture;
    await eventually('it denies', isDenied);
    process.kill(stack.pidOf('edge/main.ts'), 'SIGKILL');
    assert.equal(await isDenied(), true);
    await eventually('the trial expires', async () => !(await isDenied()), EXPIRED_MS);
    // The counting table is removed separately, a moment later.
    const isClean = async (): Promise<boolean> => !hasTable(fixture.internet.edge);
    await eventually('nothing of ours is left, nor what counts', isClean);
    await enforcement('none');
    await assert.rejects(stack.command('edge', 'confirm'), /too late/);
  });

  it('keeps enforcing past its time once enabled again, also after a restart', async () => {
    const { stack } = fixture;
    await stack.command('edge', 'on');
    await eventually('it enforces again', isDenied);
    const end = performance.now() + TRIAL_MS;
    process.kill(stack.pidOf('edge/main.ts'), 'SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, end + 1_500 - performance.now()));
    assert.equal(await isDenied(), true);
    await enforcement('full');
  });

  it('enforces on a listed device that appears later', async (t) => {
    const { internet, server, stack } = fixture;
    const fleet = defaultFleet().replace(`[${EDGE_DEVICE}]`, `[${EDGE_DEVICE}, ${LATE.device}]`);
    await stack.applyFleet(fleet);
    await enforcement('partial');
    const client = network.create('client');
    network.join(client, { device: 'eth0', addresses: [`${LATE.client}/24`] }, internet.edge, {
      device: LATE.device,
      addresses: [`${LATE.edge}/24`],
    });
    addRoute(client, 'default', LATE.edge);
    const probe = await new Probe(client).started();
    t.after(() => probe.stop());
    const late = new Path(probe, server, SENTINELS.server);
    assert.equal(await late.passes(packet(4, 'udp', { source: LATE.client })), false);
    assert.equal(await late.passes(packet(4, 'tcp', { source: LATE.client })), true);
  });

  it('is not said to be off while an edge of another data directory goes on enforcing', async () => {
    const { stack } = fixture;
    const elsewhere = join(stack.dataDir, '..', 'mistyped');
    assert.throws(
      () => fixture.internet.edge.run(LAUNCHER, 'edge', 'off', '--data', elsewhere),
      /an edge that does not use \S*mistyped\/edge enforces on this host/,
    );
    await eventually('it enforces all the same', isDenied);
  });

  it('is switched off without control, with and without a running agent, and control is notified', async () => {
    const { stack } = fixture;
    const control = stack.pidOf('control/main.ts');
    process.kill(control, 'SIGSTOP');
    try {
      await stack.command('edge', 'off');
      assert.equal(await isDenied(), false);
    } finally {
      process.kill(control, 'SIGCONT');
    }
    await enforcement('none');
    await stack.command('edge', 'on');
    await eventually('it enforces again', isDenied);
    await eventually('fragments wait shortly', async () => patienceSeconds() === 2);
    await stack.killAll();
    assert.equal(await isDenied(), true, 'what is in the kernel stays');
    await stack.command('edge', 'off');
    assert.equal(await isDenied(), false);
    assert.equal(patienceSeconds(), 30, 'as the host had it');
    assert.equal(
      hasTable(fixture.internet.edge),
      false,
      'nothing of ours is left, nor what counts',
    );
    await stack.start();
    await enforcement('none');
    assert.equal(await isDenied(), false);
  });
});

/** How long the edge host's kernel keeps fragments of an incomplete datagram. */
function patienceSeconds(): number {
  return Number(fixture.internet.edge.run('sysctl', '-n', 'net.ipv4.ipfrag_time'));
}

function hasTable(edge: Namespace): boolean {
  return edge.run('nft', 'list', 'tables').includes('inet portcullis');
}

async function enforcement(wanted: 'full' | 'partial' | 'none'): Promise<void> {
  await eventually(`enforcement is ${wanted}`, async () => {
    const answer = await fixture.stack.api.call('GET', `/api/v1/firewall/ips/${SERVER[4]}`);
    return answer.headers['portcullis-enforcement'] === wanted;
  });
}
