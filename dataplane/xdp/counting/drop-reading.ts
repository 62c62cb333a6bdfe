import type { DropEntry, DropSample } from '@portcullis/core/firewall/drops.ts';
import type { DropReading } from '../../drops.ts';
import type { EarlyDropDriver } from '../driver/driver.ts';
import type { Reason } from '../compile/early-target.ts';
import type { SlotCount } from '../maps/map-set.ts';
import type { Sample } from './drop-sample.ts';

const ETHERNET_BYTES = 14;
const CAUSES: Readonly<Record<Reason, Pick<DropEntry, 'stage' | 'reason'>>> = {
  rules: { stage: 'policy', reason: 'denied' },
  baseline: { stage: 'policy', reason: 'baseline' },
  geo: { stage: 'policy', reason: 'geo' },
  blocked: { stage: 'policy', reason: 'blocked' },
  mitigations: { stage: 'mitigations', reason: 'mitigated' },
  greetings: { stage: 'filters', reason: 'no-greeting' },
};

type DeviceName = (ifindex: number) => string | null;

/** Drops and samples since the last call. */
export function readDrops(driver: EarlyDropDriver, deviceName: DeviceName): DropReading {
  const entries = driver.counts().map(entryOf);
  const nowMs = Date.now();
  const now = process.hrtime.bigint();
  const samples = driver.samples().map(({ at, ...sample }) => ({
    ...sampleOf(sample, deviceName),
    atMs: nowMs - Number((now - at) / 1_000_000n),
  }));
  return { entries, samples };
}

/** Bytes are counted from the IP header on. */
function entryOf({ target, reason, packets, bytes }: SlotCount): DropEntry {
  return {
    target,
    ...CAUSES[reason],
    by: 'xdp',
    packets,
    bytes: bytes - packets * ETHERNET_BYTES,
  };
}

function sampleOf(
  { ifindex, reason, packet, target }: Omit<Sample, 'at'> & { readonly target: string },
  deviceName: DeviceName,
): Omit<DropSample, 'atMs'> {
  return {
    target,
    ...CAUSES[reason],
    by: 'xdp',
    ...packet,
    device: deviceName(ifindex),
  };
}
