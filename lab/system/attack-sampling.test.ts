import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { AttackType } from '@portcullis/core/attacks/attack.ts';
import { OurCollector } from '../bench/detection/ours.ts';
import { dropAtIngress, linkOf } from '../bench/traffic.ts';
import { sendFloods } from '../floods/flood.ts';
import type { FloodKind } from '../floods/frames.ts';
import { REAL_EXPORTERS, startExporter } from '../flows/exporters.ts';
import { Network } from '../netns.ts';
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
  const { address: to } = linkOf(host, DEVICE);
  const floods = KINDS.flatMap(([kind, type], index) =>
    [2, 5].flatMap((factor) =>
      [`203.0.113.${factor * 10 + index}`, `2001:db8:5::${factor * 10 + index}`].map((target) => ({
        name: target,
        kind,
        type,
        target,
        to,
        device: 'v0',
        ifindex,
        pps: PPS * factor,
        seconds: SECONDS,
      })),
    ),
  );
  const sent = await sendFloods(sender, floods);
  await pause((HOLD_SECONDS + 2) * 1000);
  const wrong = floods.flatMap(({ target, type }) => {
    const attack = collector.attacks.get(target);
    const report = sent.get(target);
    assert.ok(report !== undefined);
    if (attack === undefined) return [`${target}: not seen`];
    const { value, low, high } = attack.peakPps;
    // A peak that rises by no more than chance is not told: what was sent may be lower than at its peak.
    const mean = report.packets / SECONDS;
    const isWithin = low <= report.peakPps && mean <= high;
    const words = `${target}: ${attack.type}, ${low} to ${high}, ${report.peakPps} were sent`;
    return attack.type === type && isWithin && low < value && value < high ? [] : [words];
  });
  assert.deepEqual(wrong, []);
});
