import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { SERVER } from '../internet.ts';
import type { Namespace } from '../netns.ts';
import { defaultFleet } from '../stack.ts';
import { buildGround, type Ground, packet, whyNot } from './ground.ts';

const FAMILIES = [4, 6] as const;
const OPEN_PORT = 27_016;

let ground: Ground;

describe('packets that never stop', { skip: whyNot() }, () => {
  before(async () => {
    ground = await buildGround('restart');
    for (const family of FAMILIES) {
      const { api } = ground.stack;
      await api.createRule(SERVER[family], { action: 'deny', protocol: 'any' });
      const open = { protocol: 'udp', destination_port: String(OPEN_PORT) };
      await api.createRule(SERVER[family], { action: 'allow', ...open });
    }
  });
  after(() => ground.stop());

  it('meet the same rules while up is stopped and started again', () =>
    undisturbed(async () => {
      await ground.stack.terminate();
      await ground.stack.start('--enforce');
      await ground.stack.api.enforced(SERVER[4]);
    }));

  it('meet the same rules while the agent is killed and comes back by itself', () =>
    undisturbed(async () => {
      const { stack } = ground;
      process.kill(stack.pidOf('edge/main.ts'), 'SIGKILL');
      // Live only once the new agent has it in the kernel.
      const ids = await stack.api.createRule(SERVER[4], { action: 'deny', protocol: 'gre' });
      await stack.api.deleteRules(SERVER[4], ids);
    }));

  it('meet the same rules while everything is killed and started again', () =>
    undisturbed(async () => {
      await ground.stack.killAll();
      await ground.stack.start('--enforce');
      await ground.stack.api.enforced(SERVER[4]);
    }));

  it('meet the same rules while the edge is given another layout, and is killed at it', () =>
    undisturbed(async () => {
      const { stack } = ground;
      const management = (port: number): string =>
        defaultFleet().replace('port: 22', `port: ${port}`);
      for (let round = 0; round < 4; round += 1) {
        // Other settings are another table: written whole, in place of the one that is there.
        const applied = stack.applyFleet(management(2_200 + round));
        if (round % 2 === 1) process.kill(stack.pidOf('edge/main.ts'), 'SIGKILL');
        await applied;
      }
      assert.match(chainOf(ground.internet.edge, 'judge'), /\b2203\b/);
    }));
});

function chainOf(edge: Namespace, name: string): string {
  return edge.run('nft', 'list', 'chain', 'inet', 'portcullis', name);
}

async function undisturbed(disturb: () => Promise<void>): Promise<void> {
  const flows = FAMILIES.flatMap((family) => [
    { passes: false, packet: packet(family, 'udp') },
    { passes: true, packet: packet(family, 'udp', { destinationPort: OPEN_PORT }) },
  ]);
  const stream = await ground.through.steadily(flows.map((flow) => flow.packet));
  await disturb();
  for (const [index, sent] of (await stream.stop()).entries()) {
    const passes = flows[index]?.passes;
    assert.ok(sent.length > 100, `${sent.length} packets`);
    const astray = sent.filter((one) => one.passed !== passes);
    assert.equal(astray.length, 0, `of ${sent.length} that should ${passes ? '' : 'not '}pass`);
  }
}
