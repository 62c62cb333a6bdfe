import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { SERVER } from '../../stack/internet.ts';
import { createMemoryGroup, type MemoryGroup } from '../../kernel/memory-group.ts';
import { skipUnless } from '../../requirements.ts';
import { defaultFleet } from '../../stack/stack.ts';
import {
  startStackFixture,
  eventually,
  type StackFixture,
  NEEDS,
  packet,
  takesOver,
} from '../stack-fixture.ts';
import { assertUndisturbed, duringSteadyFlows, protectServer } from './steady-flows.ts';

/** The address whose rules change until memory is full; no steady flow goes to it. */
const NEIGHBOUR = SERVER.neighbours[0];
const PORTS = 100;
const MOST_CHANGES = 200;
/** Memory above its present use: a few changes need it. */
const MORE_BYTES = 256 * 1024;

let fixture: StackFixture;
let limited: MemoryGroup;

/** Includes kernel memory: table elements are charged to the process that writes them. */
describe('an agent whose memory is limited', {
  skip: skipUnless([...NEEDS, 'memory-cgroup']),
}, () => {
  before(async () => {
    limited = createMemoryGroup('edge') as MemoryGroup;
    const limits = `limits: { rules_per_ip: 100000, max_ports_per_request: ${PORTS},`;
    fixture = await startStackFixture('memory', {
      fleet: defaultFleet().replace('limits: {', limits),
    });
    await protectServer(fixture);
  });
  after(async () => {
    await fixture?.stop();
    limited?.remove();
  });

  it('is ended by the kernel in the middle of its changes, opens no window, and has all of them when it is back', async (t) => {
    const { stack, through } = fixture;
    const agent = stack.pidOf('edge/main.ts');
    let last = 0;
    const flows = await duringSteadyFlows(fixture, async () => {
      limited.add(agent);
      // What it had before does not count here: the first changes tell what it is about.
      last = await deny(0);
      limited.limit(limited.usedBytes() + MORE_BYTES);
      for (let change = 1; limited.kills() === 0; change++) {
        assert.ok(change < MOST_CHANGES, 'it always had room');
        last = await deny(change);
      }
      t.diagnostic(`ended after ${last - 1_000} ports`);
      await eventually('another agent runs', async () => otherThan(agent));
      await takesOver(stack);
    });
    assertUndisturbed(flows);
    for (const port of [1_000, last]) {
      const to = { destination: NEIGHBOUR, destinationPort: port };
      await eventually(
        `port ${port} is denied`,
        async () => !(await through.passes(packet(4, 'udp', to))),
      );
    }
    const open = packet(4, 'udp', { destination: NEIGHBOUR, destinationPort: last + 1 });
    assert.equal(await through.passes(open), true);
  });
});

/** Opens the neighbour's next ports; returns the last one. */
async function deny(change: number): Promise<number> {
  const first = 1_000 + change * PORTS;
  const last = first + PORTS - 1;
  const ports = { protocol: 'udp', destination_port: `${first}-${last}` } as const;
  await fixture.stack.api.createRule(NEIGHBOUR, { action: 'deny', ...ports });
  return last;
}

function otherThan(agent: number): boolean {
  try {
    return fixture.stack.pidOf('edge/main.ts') !== agent;
  } catch {
    return false;
  }
}
