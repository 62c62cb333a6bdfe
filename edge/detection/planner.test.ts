import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe } from 'node:test';
import type { Attack, AttackEvent } from '@portcullis/core/attacks/attack.ts';
import type { Ongoing, SubjectState } from '@portcullis/core/attacks/detector/subject.ts';
import type { AttackTops } from '@portcullis/core/attacks/mitigation/plan-mitigations.ts';
import { BUCKET_MS } from '@portcullis/core/attacks/sample.ts';
import { plannerSuite } from '@portcullis/core/attacks/testing/planner-suite.ts';
import { createMemoryLink } from '@portcullis/link/transport/memory.ts';
import { createMachineClock } from '../switch/machine-clock.ts';
import { AutonomousDetection } from './autonomous-detection.ts';
import { OverlayStore } from './overlay/overlay-store.ts';

const SCOPE = {
  scope: '203.0.113.0/24',
  pps: 2_000,
  bps: 1e9,
  holdMs: 10_000,
  mitigation: 'on',
  safelist: [],
  subject: true,
} as const;
const START_MS = 1_790_000_000_000;
/** The buckets: what is known of sources is read once a second. */
const BUCKETS = 4;
const RATE = { value: 6_000, low: 6_000, high: 6_000 };

describe('the mitigations of an edge alone', () => {
  const stopped: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const stop of stopped.splice(0)) await stop();
  });

  plannerSuite(() => {
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-planner-'));
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const link = createMemoryLink(async () => ({ kind: 'done' }));
    let tops: AttackTops | null = null;
    const edge = new AutonomousDetection({
      folder,
      log,
      link: link.connect({ kind: 'edge', name: 'fra1' }),
      instance: 'one',
      nowMs: () => atMs,
      tops: (subject) => (tops === null ? null : { subject, ...tops }),
      scopeOf: () => SCOPE,
      held: () => [],
      cancelled: () => [],
      changed: () => {},
    });
    stopped.push(async () => {
      await edge.stop();
      await link.control.close();
      rmSync(folder, { recursive: true });
    });
    const store = new OverlayStore(folder, createMachineClock(), log);
    let atMs = START_MS;
    let last: Attack | null = null;
    return {
      report: async (reported, seen) => {
        tops = seen;
        const times = { startedAtMs: START_MS, endedAtMs: null };
        const attack =
          reported === null
            ? null
            : { ...reported, ...times, id: 'one', peakPps: RATE, peakBps: RATE };
        const phase = { attack, quietMs: 0 } as unknown as Ongoing;
        const state = { phase } as unknown as SubjectState & { phase: Ongoing };
        const ended: AttackEvent[] =
          attack === null && last !== null
            ? [{ kind: 'ended', attack: last, atMs, quietMs: 0, partOf: null }]
            : [];
        const ongoing = new Map(attack === null ? [] : [[attack.subject, state]]);
        for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
          atMs += BUCKET_MS;
          const sample = { atMs, durationMs: BUCKET_MS, addresses: [], prefixes: [] };
          const contact = { controlMs: null, silentSinceMs: START_MS - 10_000 };
          await edge.step(sample, ongoing, bucket === 0 ? ended : [], contact);
        }
        last = attack;
        return store.load().flatMap(({ actions }) => actions);
      },
    };
  });
});
