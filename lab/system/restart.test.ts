import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { SERVER } from '../internet.ts';
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
});

async function undisturbed(disturb: () => Promise<void>): Promise<void> {
  const { through } = ground;
  const streams = FAMILIES.flatMap((family) => [
    { passes: false, stream: through.stream(() => packet(family, 'udp')) },
    {
      passes: true,
      stream: through.stream(() => packet(family, 'udp', { destinationPort: OPEN_PORT })),
    },
  ]);
  await disturb();
  for (const { passes, stream } of streams) {
    const sent = await stream.stop();
    assert.ok(sent.length > 100, `${sent.length} packets`);
    const astray = sent.filter((one) => one.passed !== passes);
    assert.equal(astray.length, 0, `of ${sent.length} that should ${passes ? '' : 'not '}pass`);
  }
}
