import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FRAGMENT_LIMITS, type FragmentLimits } from '@portcullis/core/firewall/fragment-limits.ts';
import { DEFAULT_LIMITS } from '@portcullis/edge/nftables/base-chain.ts';
import { compilePolicy } from '@portcullis/edge/nftables/compile.ts';
import { planLayout } from '@portcullis/edge/nftables/layout.ts';
import { createNftDriver } from '@portcullis/edge/nftables/nft.ts';
import { renderWhole } from '@portcullis/edge/nftables/render.ts';
import { makeRoomForReassembly } from '@portcullis/edge/reassembly.ts';
import {
  CLIENT,
  createInternet,
  EDGE_DEVICE,
  type Internet,
  SENTINELS,
  SERVER,
} from '../internet.ts';
import { type FloodKind, FragmentFlood } from '../wire/fragment-flood.ts';
import { Path } from '../wire/path.ts';
import { Probe, type ProbePacket } from '../wire/probe.ts';
import { packet, whyNot } from './ground.ts';

/** Sources that have sent nothing yet, one for each flood. */
const NEW = {
  4: { first: CLIENT.others[0], later: CLIENT.others[1] },
  6: { first: CLIENT.others[3], later: CLIENT.others[4] },
} as const;

describe('a flood of fragments that never make a datagram', { skip: whyNot() }, () => {
  it('leaves datagrams of known sources alone, and costs a new source one datagram at most', async () => {
    await onGround(FRAGMENT_LIMITS, async ({ path, flooded }) => {
      for (const family of [4, 6] as const) {
        assert.equal(await path.passes(datagram(family)), true, 'in peace');
        for (const kind of ['first', 'later'] as const) {
          await flooded(family, kind, async () => {
            await allPass(path, 100, () => datagram(family));
            const source = NEW[family][kind];
            await path.passes(datagram(family, { source }));
            await allPass(path, 20, () => datagram(family, { source }));
          });
        }
        await flooded(family, 'both', () => allPass(path, 100, () => datagram(family)));
      }
    });
  });

  it('stops all fragmented traffic where nothing limits it', async () => {
    await onGround(null, async ({ path, flooded }) => {
      for (const family of [4, 6] as const) {
        assert.equal(await path.passes(datagram(family)), true, 'in peace');
        await flooded(family, 'first', async () => {
          for (let sent = 0; sent < 20; sent++) {
            assert.equal(await path.passes(datagram(family)), false);
          }
        });
      }
    });
  });
});

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
  /** Runs while the flood does. */
  flooded(family: 4 | 6, kind: FloodKind, run: () => Promise<void>): Promise<void>;
}

/** Limits null: whatever the kernel does by itself. */
async function onGround(
  limits: FragmentLimits | null,
  run: (ground: Flooded) => Promise<void>,
): Promise<void> {
  const undo: (() => Promise<void> | void)[] = [];
  try {
    const internet = createInternet('frags');
    undo.push(() => internet.destroy());
    const client = await new Probe(internet.client).started();
    undo.push(() => client.stop());
    const server = await new Probe(internet.server).started();
    undo.push(() => server.stop());
    await protect(internet, limits);
    const mac = internet.edge.run('cat', `/sys/class/net/${EDGE_DEVICE}/address`).trim();
    await run({
      path: new Path(client, server, SENTINELS.server),
      flooded: async (family, kind, during) => {
        const target = { from: internet.client, device: 'eth0', mac };
        const flood = await FragmentFlood.begin({ ...target, destination: SERVER[family], kind });
        try {
          await during();
        } finally {
          await flood.end();
        }
      },
    });
  } finally {
    for (const step of undo.toReversed()) await step();
  }
}

async function protect({ edge }: Internet, limits: FragmentLimits | null): Promise<void> {
  const driver = createNftDriver({ command: edge.command('nft') });
  const open = { mitigations: [], baseline: [], geo: [], filters: [], rules: [] };
  const targets = new Map(
    [SERVER[4], '2001:db8:5::/64'].map((target) => [target, compilePolicy({ ...open, target })]),
  );
  const rules = {
    devices: limits === null ? [] : [EDGE_DEVICE],
    management: [],
    sees: 'both',
    fragments: 'reassemble',
    ...DEFAULT_LIMITS,
  } as const;
  const layout = planLayout(rules, targets, { version: '', sets: {} });
  await driver.apply(renderWhole(layout).text);
  if (limits === null) return;
  const path = (name: string): string => `/proc/sys/${name}`;
  const lack = makeRoomForReassembly(
    {
      read: (name) => Number(edge.run('cat', path(name))),
      write: (name, value) =>
        void edge.run('sysctl', '-q', '-w', `${name.replaceAll('/', '.')}=${value}`),
    },
    limits,
  );
  assert.equal(lack, null);
}
