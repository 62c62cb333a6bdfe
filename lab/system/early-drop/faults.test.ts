import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { NETLINK, NetlinkSocket } from '@portcullis/dataplane/kernel/netlink/netlink.ts';
import { EDGE_DEVICE, SERVER } from '../../stack/internet.ts';
import type { Namespace } from '../../stack/netns.ts';
import { missing } from '../../requirements.ts';
import { defaultFleet } from '../../stack/stack.ts';
import { attachedMode, detachAll } from './attached.ts';
import {
  startStackFixture,
  eventually,
  type StackFixture,
  takesOver,
  whyNot,
} from '../stack-fixture.ts';
import {
  assertNothingDeniedPassed,
  assertUndisturbed,
  duringSteadyFlows,
  protectServer,
} from '../edge/steady-flows.ts';
import { remakeUplink, restoreUplink } from '../edge/uplink.ts';

const REPAIRED_MS = 15_000;
/** Source: include/uapi/linux/netfilter/nfnetlink.h. */
const GROUP_NFTABLES = 7;
const OPEN_UDP = { action: 'allow', protocol: 'udp' } as const;

const lacking = whyNot() || missing(['bpf']);
if (lacking !== null && process.env['PORTCULLIS_TEST_REQUIRE'] === 'all') {
  throw new Error(`these tests may not be skipped here, and cannot run: ${lacking}`);
}

let fixture: StackFixture;

/** The early drop and nftables fail one at a time: the other one keeps dropping denied packets. */
describe('continuous packets with early drop', { skip: lacking ?? false }, () => {
  before(async () => {
    fixture = await startStackFixture('early-faults');
    await protectServer(fixture);
  });
  after(() => fixture.stop());

  for (const [deed, command] of Object.entries({
    'our table is deleted': 'delete table inet portcullis',
    'nft flush ruleset': 'flush ruleset',
  })) {
    it(`${deed}: the early drop goes on alone until it is repaired`, async () => {
      const { edge } = fixture.internet;
      const flows = await duringSteadyFlows(fixture, async () => {
        await repairedSoon(hasTable, () => edge.run('nft', command));
      });
      assertUndisturbed(flows);
    });
  }

  it('the early drop is detached: nftables goes on alone until it is put back', async () => {
    const flows = await duringSteadyFlows(fixture, () =>
      repairedSoon(isAttached, () => detachAll(fixture.stack)),
    );
    assertUndisturbed(flows);
  });

  it('the link goes down and up: nothing denied gets in', async () => {
    const { edge } = fixture.internet;
    const flows = await duringSteadyFlows(fixture, async () => {
      edge.run('ip', 'link', 'set', EDGE_DEVICE, 'down');
      edge.run('ip', 'link', 'set', EDGE_DEVICE, 'up');
      restoreUplink(fixture.internet);
      assert.equal(isAttached(), true);
    });
    assertNothingDeniedPassed(flows);
  });

  it('control hangs at the confirmation of a change: what others undo is repaired as soon', async () => {
    const { stack, internet } = fixture;
    const control = stack.pidOf('control/main.ts');
    for (const port of ['1001', '1002', '1003']) {
      const hung = hangAtNextChange(internet.edge, control);
      const live = stack.api.createRule(SERVER[4], { ...OPEN_UDP, destination_port: port });
      try {
        await hung;
        const flows = await duringSteadyFlows(fixture, async () => {
          await repairedSoon(hasTable, () => internet.edge.run('nft', 'flush ruleset'));
          await repairedSoon(isAttached, () => detachAll(stack));
        });
        assertUndisturbed(flows);
      } finally {
        process.kill(control, 'SIGCONT');
      }
      await live;
    }
  });

  it('the agent is killed and takes over what it left', async () => {
    const { stack } = fixture;
    const flows = await duringSteadyFlows(fixture, async () => {
      process.kill(stack.pidOf('edge/main.ts'), 'SIGKILL');
      await takesOver(stack);
    });
    assertUndisturbed(flows);
  });

  it('the edge is given another layout, and is killed at it', async () => {
    const { stack } = fixture;
    const flows = await duringSteadyFlows(fixture, async () => {
      for (const [round, port] of ['2200', '2201', '2202'].entries()) {
        // Other settings need another table, which replaces the existing one as a whole.
        const applied = stack.applyFleet(defaultFleet().replace('port: 22', `port: ${port}`));
        if (round === 1) process.kill(stack.pidOf('edge/main.ts'), 'SIGKILL');
        await applied;
      }
    });
    assertUndisturbed(flows);
  });

  it('everything is killed and started again', async () => {
    const { stack } = fixture;
    const flows = await duringSteadyFlows(fixture, async () => {
      await stack.killAll();
      await stack.start('--enforce');
      await takesOver(stack);
    });
    assertUndisturbed(flows);
  });

  it('the device is deleted and made again: enforced from its first packet, and dropped early again', async () => {
    const flows = await duringSteadyFlows(fixture, () =>
      repairedSoon(isAttached, () => remakeUplink(fixture.internet)),
    );
    assertNothingDeniedPassed(flows);
  });
});

/** Stops control as soon as the kernel has a change, before the edge can have its confirmation answered. */
async function hangAtNextChange(edge: Namespace, control: number): Promise<void> {
  const news = edge.within(() => new NetlinkSocket(NETLINK.netfilter));
  try {
    // Received from here on, before the first change is requested.
    news.join(GROUP_NFTABLES);
    await new Promise<void>((resolve) => {
      news.onArrival(0, () => {
        if (news.drain().length > 0) resolve();
      });
    });
    process.kill(control, 'SIGSTOP');
  } finally {
    news.close();
  }
}

async function repairedSoon(isWhole: () => boolean, deed: () => unknown): Promise<void> {
  deed();
  const begin = performance.now();
  await eventually('it is whole again', async () => isWhole());
  const tookMs = performance.now() - begin;
  assert.ok(tookMs < REPAIRED_MS, `${tookMs} ms`);
}

function hasTable(): boolean {
  return fixture.internet.edge.run('nft', 'list', 'tables').includes('inet portcullis');
}

function isAttached(): boolean {
  return attachedMode(fixture.internet.edge) === 'native';
}
