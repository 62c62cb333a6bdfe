import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { edgeStatus } from '../../stack/edge-status.ts';
import { EDGE_DEVICE, SERVER } from '../../stack/internet.ts';
import { missing } from '../../requirements.ts';
import { defaultFleet } from '../../stack/stack.ts';
import { attachedMode } from './attached.ts';
import {
  startStackFixture,
  eventually,
  type StackFixture,
  packet,
  whyNot,
} from '../stack-fixture.ts';
import { assertUndisturbed, duringSteadyFlows, protect } from '../edge/steady-flows.ts';

const CAPACITY = 3;
const [NEXT, LAST] = SERVER.neighbours;
/** No steady flow uses it. */
const DENIED_PORT = 999;
/** More than the early drop reads in sequence: it has no capacity for that number of look-ups. */
const LONG = { action: 'allow', protocol: 'tcp', destination_port: '7000-7139' } as const;
/** One heartbeat of the edge, with a margin for a slow machine. */
const PATIENCE_MS = 45_000;

const lacking = whyNot() || missing(['bpf']);
if (lacking !== null && process.env['PORTCULLIS_TEST_REQUIRE'] === 'all') {
  throw new Error(`these tests may not be skipped here, and cannot run: ${lacking}`);
}

let fixture: StackFixture;
let agent: number;

describe('an early drop at capacity', { skip: lacking ?? false }, () => {
  let ofServer6: readonly number[];
  before(async () => {
    const fleet = defaultFleet().replace(
      'requests_per_minute: 1000000',
      'requests_per_minute: 1000000, rules_per_ip: 500, max_ports_per_request: 500',
    );
    fixture = await startStackFixture('early-room', { earlyDropCapacity: CAPACITY, fleet });
    // Sees packets that the early drop has passed on, before nftables evaluates them.
    fixture.internet.edge.run(
      'nft',
      `table netdev seen { counter c { }; chain in { type filter hook ingress device "${EDGE_DEVICE}" priority -1000; udp dport ${DENIED_PORT} counter name c; }; }`,
    );
    agent = fixture.stack.pidOf('edge/main.ts');
    await protect(fixture, SERVER[4]);
    ofServer6 = await protect(fixture, SERVER[6]);
    await protect(fixture, NEXT);
    for (const address of [SERVER[4], SERVER[6], NEXT]) await judged(address, 'early');
  });
  after(() => fixture.stop());

  it('leaves an address that comes to nftables, and says so', async () => {
    const flows = await duringSteadyFlows(fixture, async () => {
      await protect(fixture, LAST);
      await judged(LAST, 'by nftables');
    }, [SERVER[4], SERVER[6], NEXT]);
    assertUndisturbed(flows);
    for (const address of [SERVER[4], SERVER[6], NEXT]) await judged(address, 'early');
    assert.equal(attachedMode(fixture.internet.edge), 'native');
    await reportsExcluded(1);
  });

  it('goes on changing at once what it holds', async () => {
    const { api } = fixture.stack;
    const open = {
      action: 'allow',
      protocol: 'udp',
      destination_port: String(DENIED_PORT),
    } as const;
    const ids = await api.createRule(NEXT, open);
    assert.equal(await passes(NEXT, DENIED_PORT), true);
    await api.deleteRules(NEXT, ids);
    await judged(NEXT, 'early');
    await judged(LAST, 'by nftables');
  });

  it('takes up what it left as soon as another address goes', async () => {
    const flows = await duringSteadyFlows(fixture, async () => {
      await fixture.stack.api.deleteRules(SERVER[6], ofServer6);
      await judged(LAST, 'early');
    }, [SERVER[4], NEXT, LAST]);
    assertUndisturbed(flows);
    assert.equal(await passes(SERVER[6], DENIED_PORT), true);
    await reportsExcluded(0);
  });

  it('judges nothing by rules of before where those of now have no room, until they shrink', async () => {
    const { api } = fixture.stack;
    const addresses = [SERVER[4], NEXT, LAST];
    const flows = await duringSteadyFlows(
      fixture,
      async () => {
        const ids = await api.createRule(SERVER[4], LONG);
        await judged(SERVER[4], 'by nftables');
        for (const port of [7_000, 7_139]) assert.equal(await passes(SERVER[4], port, 'tcp'), true);
        assert.equal(await passes(SERVER[4], 7_140, 'tcp'), false);
        for (const address of [NEXT, LAST]) await judged(address, 'early');
        for (const some of [ids.slice(0, 70), ids.slice(70)]) {
          await api.deleteRules(SERVER[4], some);
        }
        await judged(SERVER[4], 'early');
        assert.equal(await passes(SERVER[4], 7_000, 'tcp'), false);
      },
      addresses,
    );
    assertUndisturbed(flows);
    assert.equal(fixture.stack.pidOf('edge/main.ts'), agent);
  });
});

/** Packets denied to it are dropped, and later dropped there. */
async function judged(address: string, where: 'early' | 'by nftables'): Promise<void> {
  await eventually(`${address} is judged ${where}`, async () => {
    const before = seen();
    assert.equal(await passes(address, DENIED_PORT), false, address);
    return (seen() === before ? 'early' : 'by nftables') === where;
  });
}

function seen(): number {
  const listed = fixture.internet.edge.run('nft', 'list', 'counter', 'netdev', 'seen', 'c');
  return Number(/packets (\d+)/.exec(listed)?.[1]);
}

async function reportsExcluded(count: number): Promise<void> {
  await eventually(
    `the edge reports excluded targets: ${count}`,
    async () => {
      const problems = (await edgeStatus(fixture.stack)).report?.problems ?? [];
      const found = problems.find((one) => one.includes('exceed the capacity')) ?? '0 ';
      return found.startsWith(`${count} `);
    },
    PATIENCE_MS,
  );
}

function passes(address: string, port: number, protocol: 'udp' | 'tcp' = 'udp'): Promise<boolean> {
  const family = address.includes(':') ? 6 : 4;
  return fixture.through.passes(
    packet(family, protocol, { destination: address, destinationPort: port }),
  );
}
