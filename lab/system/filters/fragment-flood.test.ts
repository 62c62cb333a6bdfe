import { EMPTY_POLICY } from '@portcullis/core/firewall/policy.ts';
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FRAGMENT_LIMITS } from '@portcullis/core/firewall/fragment-limits.ts';
import type { EdgeSettings } from '@portcullis/core/firewall/packet.ts';
import { DEFAULT_LIMITS } from '@portcullis/dataplane/nftables/table/edge-rules.ts';
import { openCounterReader } from '@portcullis/dataplane/nftables/elements/counter-reader.ts';
import { NftablesDrops } from '@portcullis/dataplane/nftables/elements/drop-source.ts';
import { createLineLog } from '@portcullis/agent/log.ts';
import { compilePolicy } from '@portcullis/dataplane/nftables/policy/compile.ts';
import { planLayout } from '@portcullis/dataplane/nftables/table/layout.ts';
import { createNftDriver } from '@portcullis/dataplane/nftables/nft.ts';
import { renderWhole } from '@portcullis/dataplane/nftables/table/render.ts';
import type { DropSource } from '@portcullis/dataplane/drops.ts';
import { createSysctls } from '@portcullis/dataplane/kernel/sysctls.ts';
import { Reassembly } from '@portcullis/edge/host/reassembly.ts';
import {
  CLIENT,
  createInternet,
  EDGE_DEVICE,
  type Internet,
  SENTINELS,
  SERVER,
} from '../../stack/internet.ts';
import type { Namespace } from '../../stack/netns.ts';
import { type FloodKind, FragmentFlood } from '../../wire/fragment-flood.ts';
import { Path } from '../../wire/path.ts';
import { Probe, type ProbePacket } from '../../wire/probe.ts';
import { packet, whyNot } from '../stack-fixture.ts';

/** Sources that have sent nothing before, one per flood. */
const NEW = {
  4: { first: CLIENT.others[0], later: CLIENT.others[1] },
  6: { first: CLIENT.others[3], later: CLIENT.others[4] },
} as const;

/** Protected as a prefix, with the server in it. */
const PREFIX = '2001:db8:5::/64';
const [UNPROTECTED] = SERVER.neighbours;
/** Fragments that arrive before: more than the kernel of a server holds. */
const UNTIL_MITIGATED = 12_000;
/** An address without a policy, and without a host whose own reassembly memory would be full. */
const NOBODY = '198.18.99.9';

describe('a flood of fragments that never make a datagram', { skip: whyNot() }, () => {
  it('leaves datagrams of known sources alone, and costs a new source one datagram at most', async () => {
    await withTestBed('reassemble', keepsPassing);
  });

  it('does the same where datagrams are not put together at the edge', async () => {
    await withTestBed('limit', keepsPassing);
  });

  it('does the same when it goes to every address of a prefix', async () => {
    await withTestBed('reassemble', async ({ path, flooded }) => {
      assert.equal(await path.passes(datagram(6)), true, 'in peace');
      await flooded(PREFIX, 'first', async () => {
        await allPass(path, 100, () => datagram(6));
        const source = NEW[6].first;
        await path.passes(datagram(6, { source }));
        await allPass(path, 20, () => datagram(6, { source }));
      });
    });
  });

  it('does no harm through an address that has no policy, and passes to such', async () => {
    await withTestBed('reassemble', async ({ path, flooded }) => {
      assert.equal(await path.passes(datagram(4)), true, 'in peace');
      await flooded(NOBODY, 'first', async () => {
        await allPass(path, 100, () => datagram(4));
        await allPass(path, 20, () => datagram(4, { source: NEW[4].first }));
        await allPass(path, 20, () => datagram(4, { destination: UNPROTECTED }));
      });
    });
  });

  it('does no harm to a server that had no policy, once a mitigation gives it one', async () => {
    await withTestBed('reassemble', async ({ path, flooded, sentBefore, apply }) => {
      for (const [index, family] of ([4, 6] as const).entries()) {
        const destination = SERVER.neighbours[index] as string;
        assert.equal(await path.passes(datagram(family, { destination })), true, 'in peace');
        await sentBefore(destination, 'first', UNTIL_MITIGATED);
        await apply([destination]);
        await flooded(destination, 'first', async () => {
          // The first one makes its source known.
          await path.passes(datagram(family, { destination }));
          await allPass(path, 50, () => datagram(family, { destination }));
        });
        await allPass(path, 20, () => datagram(family, { destination }));
      }
    });
  });

  it('is counted by destination, but for what the limits let through', async () => {
    await withTestBed('reassemble', async ({ drops, flooded }) => {
      assert.deepEqual(await drops.read(), { entries: [], samples: [] });
      for (const family of [4, 6] as const) {
        const begin = performance.now();
        const sent = await flooded(SERVER[family], 'first', async () => {});
        const most = FRAGMENT_LIMITS.unknownPerDestination * (performance.now() - begin + 1000);
        const { entries } = await drops.read();
        assert.deepEqual(
          entries.map(({ target, stage, reason, by }) => ({ target, stage, reason, by })),
          [{ target: SERVER[family], stage: 'fragment-limits', reason: 'rate', by: 'nftables' }],
        );
        const passed = sent - (entries[0]?.packets ?? 0);
        assert.ok(passed > 0 && passed <= most / 1000, `${passed} of ${sent} passed`);
        assert.deepEqual((await drops.read()).entries, []);
      }
    });
  });

  it('stops all fragmented traffic where nothing limits it', async () => {
    await withTestBed(null, async ({ path, flooded }) => {
      for (const family of [4, 6] as const) {
        assert.equal(await path.passes(datagram(family)), true, 'in peace');
        await flooded(SERVER[family], 'first', async () => {
          for (let sent = 0; sent < 20; sent++) {
            assert.equal(await path.passes(datagram(family)), false);
          }
        });
      }
    });
  });
});

async function keepsPassing({ path, flooded }: Flooded): Promise<void> {
  for (const family of [4, 6] as const) {
    assert.equal(await path.passes(datagram(family)), true, 'in peace');
    for (const kind of ['first', 'later'] as const) {
      await flooded(SERVER[family], kind, async () => {
        await allPass(path, 100, () => datagram(family));
        const source = NEW[family][kind];
        await path.passes(datagram(family, { source }));
        await allPass(path, 20, () => datagram(family, { source }));
      });
    }
    await flooded(SERVER[family], 'both', () => allPass(path, 100, () => datagram(family)));
  }
}

function datagram(family: 4 | 6, more: Partial<ProbePacket> = {}): ProbePacket {
  return packet(family, 'udp', { fragments: 2, ...more });
}

async function allPass(path: Path, count: number, next: () => ProbePacket): Promise<void> {
  for (let sent = 0; sent < count; sent++) {
    const one = next();
    assert.equal(await path.passes(one), true, `number ${sent}: ${JSON.stringify(one)}`);
  }
}

interface Flooded {
  readonly path: Path;
  readonly drops: DropSource;
  /** Runs the function during the flood; returns the number of fragments sent. */
  flooded(destination: string, kind: FloodKind, run: () => Promise<void>): Promise<number>;
  /** Sends this number of fragments, which is below that of `flooded`. */
  sentBefore(destination: string, kind: FloodKind, count: number): Promise<void>;
  /** Adds policies. */
  apply(targets: readonly string[]): Promise<void>;
}

/** With fragments null, the kernel's own behaviour. */
async function withTestBed(
  fragments: EdgeSettings['fragments'] | null,
  run: (fixture: Flooded) => Promise<void>,
): Promise<void> {
  const undo: (() => Promise<void> | void)[] = [];
  try {
    const internet = createInternet('frags');
    undo.push(() => internet.destroy());
    const client = await new Probe(internet.client).started();
    undo.push(() => client.stop());
    const server = await new Probe(internet.server).started();
    undo.push(() => server.stop());
    internet.edge.run('ip', 'route', 'add', 'blackhole', NOBODY);
    await protect(internet, fragments);
    const mac = internet.edge.run('cat', `/sys/class/net/${EDGE_DEVICE}/address`).trim();
    const target = { from: internet.client, device: 'eth0', mac };
    await run({
      apply: (targets) => protect(internet, fragments, targets),
      sentBefore: (destination, kind, count) =>
        FragmentFlood.send({ ...target, destination, kind }, count),
      drops: new NftablesDrops(() => internet.edge.within(openCounterReader)),
      path: new Path(client, server, SENTINELS.server),
      flooded: async (destination, kind, during) => {
        const flood = await FragmentFlood.begin({ ...target, destination, kind });
        try {
          await during();
        } catch (error) {
          await flood.end();
          throw error;
        }
        return flood.end();
      },
    });
  } finally {
    for (const step of undo.toReversed()) await step();
  }
}

async function protect(
  { edge }: Internet,
  fragments: EdgeSettings['fragments'] | null,
  more: readonly string[] = [],
): Promise<void> {
  const driver = createNftDriver({ command: edge.command('nft') });
  const targets = new Map(
    [SERVER[4], PREFIX, ...more].map((target) => [
      target,
      compilePolicy({ ...EMPTY_POLICY, target }),
    ]),
  );
  const rules = {
    devices: fragments === null ? [] : [EDGE_DEVICE],
    management: [],
    sees: 'both',
    fragments: fragments ?? 'reassemble',
    ...DEFAULT_LIMITS,
  } as const;
  const layout = planLayout(rules, targets, { version: '', sets: {} });
  await driver.apply(renderWhole(layout).text);
  if (fragments === null) return;
  makeRoom(edge);
}

function makeRoom(edge: Namespace): void {
  const inKernel = createSysctls();
  const reassembly = new Reassembly({
    sysctls: {
      read: (name) => edge.within(() => inKernel.read(name)),
      write: (name, value) => edge.within(() => inKernel.write(name, value)),
    },
    limits: FRAGMENT_LIMITS,
    // Nothing is given back where everything goes: no file is made.
    stateDir: '/dev/null',
    log: createLineLog('edge', () => {}),
  });
  reassembly.apply();
  assert.deepEqual(reassembly.problems(), []);
}
