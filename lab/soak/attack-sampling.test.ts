import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Attack, AttackType, Measured } from '@portcullis/core/attacks/attack.ts';
import { OurCollector } from '../bench/detection/ours.ts';
import { dropAtIngress, linkOf } from '../bench/generator/traffic.ts';
import { sendFloods } from '../floods/flood.ts';
import type { FloodKind } from '../floods/frames.ts';
import type { FloodReport } from '../floods/schedule.ts';
import { REAL_EXPORTERS, startExporter } from '../flows/exporters.ts';
import { Network } from '../stack/netns.ts';
import { require } from '../requirements.ts';

const PPS = 1000;
const PORT = 9001;
const SECONDS = 8;
const HOLD_SECONDS = 3;
const DEVICE = 'v1';
const NETWORKS = ['203.0.113.0/24', '2001:db8:5::/48'] as const;
const KINDS: readonly (readonly [FloodKind, AttackType])[] = [
  ['udp', 'udp_flood'],
  ['syn', 'tcp_syn_flood'],
  ['dns', 'dns_amplification'],
];

/** The share of its peak that a flood sends in any second when it left at its rate. */
const STEADY = 0.97;
/**
 * The machine may keep the sender waiting, or the exporter, which then tells two seconds' samples in one: none of
 * ours.
 */
const ROUNDS = 3;

it('of floods that a real exporter samples, what was sent lies within the bounds of each peak', async (t) => {
  if (!require(t, ['root', 'netns', 'nft', 'flow-exporters'])) return;
  const network = new Network('sampling');
  const folder = mkdtempSync(join(tmpdir(), 'pcl-sampling-'));
  t.after(() => {
    network.destroy();
    rmSync(folder, { recursive: true, force: true });
  });
  const sender = network.create('sender');
  const host = network.create('host');
  network.join(sender, { device: 'v0', addresses: [] }, host, { device: DEVICE, addresses: [] });
  host.run('nft', dropAtIngress(DEVICE));
  const collector = await OurCollector.start(host, {
    port: PORT,
    networks: NETWORKS,
    pps: PPS,
    mbps: 1000,
    holdSeconds: HOLD_SECONDS,
  });
  t.after(() => collector.stop());
  const exporter = REAL_EXPORTERS.find(({ name }) => name === 'pmacctd, sFlow');
  assert.ok(exporter !== undefined);
  const probe = await startExporter(exporter, host, DEVICE, PORT, folder);
  t.after(() => probe.kill('SIGKILL'));
  const { ifindex } = linkOf(sender, 'v0');
  const way = { to: linkOf(host, DEVICE).address, device: 'v0', ifindex };
  const reported: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const floods = floodsOf(round).map((flood) => ({ ...flood, ...way }));
    const reports = await sendFloods(sender, floods);
    await pause((HOLD_SECONDS + 2) * 1000);
    const wrong = judge(floods, reports, collector.attacks);
    if (wrong.length === 0) return;
    reported.push(`round ${round + 1}: ${wrong.join('; ')}`);
  }
  assert.fail(reported.join('\n'));
});

/** Finds the faults of a round, in words. */
function judge(
  floods: ReturnType<typeof floodsOf>,
  reports: ReadonlyMap<string, FloodReport>,
  attacks: ReadonlyMap<string, Attack>,
): string[] {
  const missed: string[] = [];
  for (const { target, type } of floods) {
    const [report, attack] = [reports.get(target), attacks.get(target)];
    assert.ok(report !== undefined);
    if (attack === undefined) {
      missed.push(`${target} was not seen`);
      continue;
    }
    if (!isSteady(report)) return [`the machine let no flood to ${target} leave at its rate`];
    const { value, low, high } = attack.peakPps;
    const words = `${target}: ${attack.type}, ${low} to ${high}, ${report.peakPps} were sent`;
    assert.ok(attack.type === type && low < value && value < high, words);
    if (!isWithin(report.peakPps, attack.peakPps)) missed.push(words);
  }
  return missed;
}

/** To addresses of their own in each round: the same ones would be the same attacks. */
function floodsOf(round: number) {
  return KINDS.flatMap(([kind, type], index) =>
    [2, 5].flatMap((factor) => {
      const host = round * 60 + factor * 10 + index;
      return [`203.0.113.${host}`, `2001:db8:5::${host}`].map((target) => {
        const pps = PPS * factor;
        return { name: target, kind, type, target, pps, seconds: SECONDS };
      });
    }),
  );
}

function isSteady({ packets, peakPps }: FloodReport): boolean {
  return packets / SECONDS >= peakPps * STEADY;
}

function isWithin(sent: number, { low, high }: Measured): boolean {
  return sent >= low && sent <= high;
}
