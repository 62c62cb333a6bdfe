import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openRuleset } from '@portcullis/dataplane/nftables/ruleset.ts';
import { SERVER } from '../../stack/internet.ts';
import type { Namespace } from '../../stack/netns.ts';
import { defaultFleet } from '../../stack/stack.ts';
import {
  startStackFixture,
  eventually,
  type StackFixture,
  takesOver,
  whyNot,
} from '../stack-fixture.ts';
import { assertUndisturbed, duringSteadyFlows, protectServer } from './steady-flows.ts';

let fixture: StackFixture;

/**
 * Early drop is off, because it would drop denied packets whatever nftables does; early-drop/faults.test.ts covers it.
 */
describe('continuous packets', { skip: whyNot() }, () => {
  before(async () => {
    fixture = await startStackFixture('restart', { earlyDrop: false });
    await protectServer(fixture);
  });
  after(() => fixture.stop());

  it('meet the same rules while up is stopped and started again', () =>
    undisturbed(async () => {
      await fixture.stack.terminate();
      await fixture.stack.start('--enforce');
      await takesOver(fixture.stack);
    }));

  it('meet the same rules while the agent is killed and comes back by itself', () =>
    undisturbed(async () => {
      const { stack } = fixture;
      process.kill(stack.pidOf('edge/main.ts'), 'SIGKILL');
      await takesOver(stack);
    }));

  it('meet the very same table after that: it is recognised, not written again', async () => {
    const { edge } = fixture.internet;
    const { stack } = fixture;
    await recorded();
    const before = handleOf(edge);
    process.kill(stack.pidOf('edge/main.ts'), 'SIGKILL');
    const ids = await stack.api.createRule(SERVER[4], { action: 'deny', protocol: 'esp' });
    await stack.api.deleteRules(SERVER[4], ids);
    assert.equal(handleOf(edge), before);
    await recorded();
    process.kill(stack.pidOf('edge/main.ts'), 'SIGKILL');
    // Our table may have changed too while no agent was running.
    edge.run(
      'nft',
      'add table inet somebody; add chain inet somebody c; delete table inet somebody',
    );
    await eventually('the table is written again', async () => handleOf(edge) !== before);
  });

  it('meet the very same table after an orderly restart, though others wrote theirs while it ran', async () => {
    const { edge } = fixture.internet;
    // Who writes while the agent does makes it doubt its table.
    await recorded();
    edge.run('nft', 'add table inet somebody; delete table inet somebody');
    const before = handleOf(edge);
    await fixture.stack.terminate();
    await fixture.stack.start('--enforce');
    await takesOver(fixture.stack);
    assert.equal(handleOf(edge), before);
  });

  it('meet the same rules while everything is killed and started again', () =>
    undisturbed(killAndStart));

  it('meet the same rules while the edge is given another layout, and is killed at it', () =>
    undisturbed(async () => {
      const { stack } = fixture;
      const management = (port: number): string =>
        defaultFleet().replace('port: 22', `port: ${port}`);
      for (let round = 0; round < 4; round += 1) {
        // Other settings need another table, which replaces the existing one as a whole.
        const applied = stack.applyFleet(management(2_200 + round));
        if (round % 2 === 1) process.kill(stack.pidOf('edge/main.ts'), 'SIGKILL');
        await applied;
      }
      assert.match(chainOf(fixture.internet.edge, 'judge4'), /\b2203\b/);
    }));
});

async function killAndStart(): Promise<void> {
  await fixture.stack.killAll();
  await fixture.stack.start('--enforce');
  await takesOver(fixture.stack);
}

/** The handle of a rule, which changes only when the table is rewritten. */
function handleOf(edge: Namespace): number {
  const listed = edge.run('nft', '-j', 'list', 'chain', 'inet', 'portcullis', 'judge4');
  const { nftables } = JSON.parse(listed) as {
    readonly nftables: readonly { readonly rule?: { handle: number } }[];
  };
  const rule = nftables.find((item) => item.rule !== undefined)?.rule;
  assert.ok(rule);
  return rule.handle;
}

/** Resolves when the agent has recorded the present state of the kernel. */
async function recorded(): Promise<void> {
  const path = join(fixture.stack.dataDir, 'edge', 'enforced', 'kernel.json');
  const rules = fixture.internet.edge.within(() => openRuleset());
  try {
    await eventually('the kernel is recorded', async () => {
      const stamp = existsSync(path) ? /"stamp":(\d+)/.exec(readFileSync(path, 'utf8'))?.[1] : null;
      return Number(stamp) === rules.generation();
    });
  } finally {
    rules.close();
  }
}

function chainOf(edge: Namespace, name: string): string {
  return edge.run('nft', 'list', 'chain', 'inet', 'portcullis', name);
}

async function undisturbed(disturb: () => Promise<void>): Promise<void> {
  assertUndisturbed(await duringSteadyFlows(fixture, disturb));
}
