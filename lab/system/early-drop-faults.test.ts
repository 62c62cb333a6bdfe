import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { EDGE_DEVICE, SERVER } from '../internet.ts';
import { missing } from '../requirements.ts';
import { attachedMode, detachAll } from './attached.ts';
import { buildGround, eventually, type Ground, whyNot } from './ground.ts';
import {
  assertNothingDeniedPassed,
  assertUndisturbed,
  duringSteadyFlows,
  protectServer,
} from './steady-flows.ts';
import { remakeUplink, restoreUplink } from './uplink.ts';

const REPAIRED_MS = 2_000;

const lacking = whyNot() || missing(['bpf']);
if (lacking !== null && process.env['PORTCULLIS_TEST_REQUIRE'] === 'all') {
  throw new Error(`these tests may not be skipped here, and cannot run: ${lacking}`);
}

let ground: Ground;

/** What drops early and what judges behind it fail one at a time: the other keeps what is denied out meanwhile. */
describe('packets that never stop, with early drop in front', { skip: lacking ?? false }, () => {
  before(async () => {
    ground = await buildGround('early-faults');
    await protectServer(ground);
  });
  after(() => ground.stop());

  for (const [deed, command] of Object.entries({
    'our table is deleted': 'delete table inet portcullis',
    'nft flush ruleset': 'flush ruleset',
  })) {
    it(`${deed}: the early drop goes on alone until it is repaired`, async () => {
      const { edge } = ground.internet;
      const flows = await duringSteadyFlows(ground, async () => {
        await repairedSoon(hasTable, () => edge.run('nft', command));
      });
      assertUndisturbed(flows);
    });
  }

  it('the early drop is detached: nftables goes on alone until it is put back', async () => {
    const flows = await duringSteadyFlows(ground, () =>
      repairedSoon(isAttached, () => detachAll(ground.stack)),
    );
    assertUndisturbed(flows);
  });

  it('the link goes down and up: nothing denied gets in', async () => {
    const { edge } = ground.internet;
    const flows = await duringSteadyFlows(ground, async () => {
      edge.run('ip', 'link', 'set', EDGE_DEVICE, 'down');
      edge.run('ip', 'link', 'set', EDGE_DEVICE, 'up');
      restoreUplink(ground.internet);
      assert.equal(isAttached(), true);
    });
    assertNothingDeniedPassed(flows);
  });

  it('the agent is killed and takes over what it left', async () => {
    const { stack } = ground;
    const flows = await duringSteadyFlows(ground, async () => {
      process.kill(stack.pidOf('edge/main.ts'), 'SIGKILL');
      // Live only once the new agent has it in the kernel.
      const ids = await stack.api.createRule(SERVER[4], { action: 'deny', protocol: 'gre' });
      await stack.api.deleteRules(SERVER[4], ids);
    });
    assertUndisturbed(flows);
  });

  it('everything is killed and started again', async () => {
    const { stack } = ground;
    const flows = await duringSteadyFlows(ground, async () => {
      await stack.killAll();
      await stack.start('--enforce');
      await stack.api.enforced(SERVER[4]);
    });
    assertUndisturbed(flows);
  });

  it('the device is deleted and made again: enforced from its first packet, and dropped early again', async () => {
    const flows = await duringSteadyFlows(ground, () =>
      repairedSoon(isAttached, () => remakeUplink(ground.internet)),
    );
    assertNothingDeniedPassed(flows);
  });
});

async function repairedSoon(isWhole: () => boolean, deed: () => unknown): Promise<void> {
  deed();
  const begin = performance.now();
  await eventually('it is whole again', async () => isWhole());
  const tookMs = performance.now() - begin;
  assert.ok(tookMs < REPAIRED_MS, `${tookMs} ms`);
}

function hasTable(): boolean {
  return ground.internet.edge.run('nft', 'list', 'tables').includes('inet portcullis');
}

function isAttached(): boolean {
  return attachedMode(ground.internet.edge) === 'native';
}
