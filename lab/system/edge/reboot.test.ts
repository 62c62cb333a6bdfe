import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { BOOT_SCRIPT } from '@portcullis/edge/boot/unit.ts';
import { pinsFolder, detachPinned } from '@portcullis/dataplane/xdp/devices/pins.ts';
import { CLIENT, EDGE_DEVICE, SERVER } from '../../stack/internet.ts';
import { addAddress, addRoute } from '../../stack/netns.ts';
import {
  startStackFixture,
  eventually,
  type StackFixture,
  packet,
  takesOver,
  whyNot,
} from '../stack-fixture.ts';

const FAMILIES = [4, 6] as const;
const OPEN_PORT = 27_016;
const LAUNCHER = join(import.meta.dirname, '..', '..', '..', 'portcullis');

let fixture: StackFixture;

describe('a reboot of the edge host, control being away', { skip: whyNot() }, () => {
  before(async () => {
    fixture = await startStackFixture('reboot');
    for (const family of FAMILIES) {
      const { api } = fixture.stack;
      await api.createRule(SERVER[family], { action: 'deny', protocol: 'any' });
      const open = { protocol: 'udp', destination_port: String(OPEN_PORT) };
      await api.createRule(SERVER[family], { action: 'allow', ...open });
    }
  });
  after(() => fixture.stop());

  it('drops what is denied and passes what is allowed from the first packet on', async () => {
    const { internet, stack, through } = fixture;
    const denied = FAMILIES.map((family) => packet(family, 'udp'));
    const allowed = FAMILIES.map((family) => packet(family, 'udp', { destinationPort: OPEN_PORT }));
    await stack.terminate();
    loseKernelState();
    for (const one of denied) assert.equal(await through.passes(one), true, 'the kernel forgot');

    unplug();
    const shut = await through.steadily(denied);
    internet.edge.run('sh', BOOT_SCRIPT, stateDir());
    await plugIn();
    const open = await through.steadily(allowed);
    const agent = await startAgentAlone();
    await end(agent);
    await stack.start('--enforce');
    await takesOver(stack);

    for (const sent of await open.stop()) {
      assert.ok(sent.length > 500, `${sent.length} packets`);
      assert.equal(sent.filter(({ passed }) => !passed).length, 0, `lost of ${sent.length}`);
    }
    for (const sent of await shut.stop()) {
      assert.ok(sent.length > 500, `${sent.length} packets`);
      assert.equal(sent.filter(({ passed }) => passed).length, 0, `leaked of ${sent.length}`);
    }
  });
});

const bpffs = (): string => join(fixture.stack.dataDir, '..', 'bpffs');
const stateDir = (): string => join(fixture.stack.dataDir, 'edge');

function loseKernelState(): void {
  const { edge } = fixture.internet;
  edge.run('nft', 'delete', 'table', 'inet', 'portcullis');
  edge.run('conntrack', '-F');
  detachPinned(pinsFolder(stateDir(), { PORTCULLIS_BPFFS: bpffs() }));
}

/** The network is not up yet, and the device has lost its addresses and routes. */
function unplug(): void {
  fixture.internet.edge.run('ip', 'link', 'set', EDGE_DEVICE, 'down');
}

/** Resolves when packets pass again. */
async function plugIn(): Promise<void> {
  const { edge } = fixture.internet;
  edge.run('ip', 'link', 'set', EDGE_DEVICE, 'up');
  if (!edge.run('ip', 'address', 'show', 'dev', EDGE_DEVICE).includes('2001:db8:c::1')) {
    addAddress(edge, EDGE_DEVICE, '2001:db8:c::1/64');
  }
  for (const family of FAMILIES) addRoute(edge, 'default', CLIENT[family]);
  for (const family of FAMILIES) {
    await eventually(`IPv${family} is back`, () =>
      fixture.through
        .passes(packet(family, 'udp', { destinationPort: OPEN_PORT }))
        .catch(() => false),
    );
  }
}

/** Resolves when it has written its saved state to the kernel. */
async function startAgentAlone(): Promise<ChildProcess> {
  const { internet, stack } = fixture;
  const agent = internet.edge.spawn(
    [LAUNCHER, 'edge', '--enforce', '--name', 'lab', '--data', stack.dataDir],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, PORTCULLIS_BPFFS: bpffs(), PORTCULLIS_LOG_LEVEL: 'debug' },
    },
  );
  assert.ok(agent.stderr);
  for await (const line of createInterface({ input: agent.stderr })) {
    const { msg, mode } = JSON.parse(line) as { readonly msg?: string; readonly mode?: string };
    if (msg === 'applied') {
      assert.equal(mode, 'enforce');
      agent.stderr.resume();
      return agent;
    }
  }
  throw new Error('the agent ended');
}

async function end(agent: ChildProcess): Promise<void> {
  const gone = once(agent, 'exit');
  agent.kill('SIGTERM');
  await gone;
}
