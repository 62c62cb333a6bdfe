import type { WireAttack } from '@portcullis/link/messages/attacks.ts';

const NOW_MS = 1_790_000_000_000;
const exactly = (value: number) => ({ value, low: value, high: value });

/** An attack that an edge saw alone. */
export function wireAttack(subject: string, change: Partial<WireAttack> = {}): WireAttack {
  return {
    id: `${subject}@${NOW_MS}`,
    subject,
    type: 'udp_flood',
    shares: [{ type: 'udp_flood', share: 1 }],
    peakPps: exactly(1_000),
    peakBps: exactly(8_000),
    startedAtMs: NOW_MS,
    endedAtMs: null,
    openedAtMs: NOW_MS + 500,
    mitigatedAtMs: null,
    actions: [],
    tops: null,
    series: { startMs: NOW_MS, stepMs: 1_000, pps: [1_000], bps: [8_000] },
    ...change,
  };
}
