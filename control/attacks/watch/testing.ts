import { VECTOR_INDEX } from '@portcullis/core/attacks/vectors.ts';
import type { AttackTops } from '@portcullis/core/attacks/respond.ts';
import type { WatchSamples, WireAttack, WireSample } from '@portcullis/link/watch-messages.ts';
import type { Db } from '../../db/database.ts';
import type { HeardAttack } from '../mitigations/facts.ts';
import { resumableOf } from '@portcullis/core/attacks/resume.ts';
import type { Attack } from '@portcullis/core/attacks/attack.ts';
import { Recorder } from '../record/recorder.ts';
import { loadOrphans } from '../record/store.ts';
import { DetectorHost } from './host.ts';
import { ScopeTable } from './scopes.ts';

export const SUBJECT = '203.0.113.10';
export const PREFIX = '203.0.113.0/24';

/** A bucket of UDP to single addresses, packets a second each. */
export function floodSample(atMs: number, rates: Readonly<Record<string, number>>): WireSample {
  const addresses = Object.entries(rates).map(([subject, pps]) => {
    const packets = pps / 4;
    return {
      subject,
      prefix: PREFIX,
      packets,
      bytes: packets * 100,
      dataPackets: 0,
      dataBytes: 0,
      receiptPackets: 0,
      packetVariance: 0,
      byteVariance: 0,
      vectors: [{ vector: VECTOR_INDEX.udp, packets, bytes: packets * 100 }],
    };
  });
  const tops = addresses.map(({ subject, packets }) => ({
    subject,
    sources: [{ source: '192.0.2.66', packets }],
    sourcePorts: [],
    destinationPorts: [{ port: 27015, packets }],
  }));
  return { atMs, durationMs: 250, addresses, prefixes: [], tops };
}

/** A control plane's detector and recorder whose time is told; killed by forgetting it. */
export class TestWatch {
  readonly scopes: ScopeTable;
  readonly host: DetectorHost;
  readonly recorder: Recorder;
  readonly heard: HeardAttack[] = [];
  readonly failures: unknown[] = [];
  readonly #db: Db;
  #sequence = 0;
  nowMs: number;

  constructor(db: Db, nowMs: number, name = 'one') {
    this.#db = db;
    this.nowMs = nowMs;
    this.scopes = new ScopeTable(db);
    this.recorder = new Recorder({
      db,
      name,
      onAttack: (heard) => void this.heard.push(heard),
      topsOf: (subject): AttackTops | null => this.host.trails.topsOf(subject),
      failed: (_, error) => void this.failures.push(error),
    });
    this.host = new DetectorHost({
      scopes: this.scopes,
      note: (seen) => this.recorder.note(seen),
      noteEvidence: (subject, evidence) => this.recorder.noteEvidence(subject, evidence),
      nowMs: () => this.nowMs,
      wallMs: () => this.nowMs,
    });
  }

  /** Takes up what goes on, as control does when it starts. */
  async takeUp(): Promise<void> {
    for (const one of await loadOrphans(this.#db, 100)) {
      const known = one.detector as { attack: Attack };
      this.host.adopt(
        resumableOf(known.attack, PREFIX, this.scopes.thresholdsOf(SUBJECT)),
        one.seenAt.getTime(),
        one.openedAt.getTime(),
      );
    }
  }

  /** So many seconds of traffic, told by one edge a bucket at a time; then all is written. */
  async play(seconds: number, rates: Readonly<Record<string, number>>): Promise<void> {
    for (let bucket = 0; bucket < seconds * 4; bucket++) {
      this.nowMs += 250;
      const samples = [floodSample(this.nowMs, rates)];
      this.tell({ instance: 'i', atMs: this.nowMs, samples });
    }
    await this.recorder.settled();
  }

  tell(message: Omit<WatchSamples, 'kind' | 'sequence'>): void {
    this.host.accept('edge/fra1', 'fra', {
      kind: 'watch.samples',
      sequence: ++this.#sequence,
      ...message,
    });
  }
}

/** As an edge tells of what it saw alone. */
export function wireAttack(
  startedAtMs: number,
  endedAtMs: number | null,
  pps = 50_000,
): WireAttack {
  const measured = (value: number) => ({ value, low: value, high: value });
  return {
    id: `${SUBJECT}@${startedAtMs}`,
    subject: SUBJECT,
    type: 'udp_flood',
    shares: [{ type: 'udp_flood', share: 1 }],
    peakPps: measured(pps),
    peakBps: measured(pps * 800),
    startedAtMs,
    endedAtMs,
    openedAtMs: startedAtMs + 750,
    mitigatedAtMs: null,
    actions: [],
    tops: null,
    series: { startMs: startedAtMs, stepMs: 1_000, pps: [pps], bps: [pps * 800] },
  };
}
