import { VECTOR_INDEX } from '@portcullis/core/attacks/vectors.ts';
import type { WatchSamples, OutageAttack, WireSample } from '@portcullis/link/messages/attacks.ts';
import type { AgentRef, AgentRequest } from '@portcullis/link/messages/messages.ts';
import { AgentScopes, type BoundRequest } from '../../../agents/scope.ts';
import type { Db } from '../../../db/database.ts';
import type { ReportedAttack } from '../record/plan.ts';
import { Recorder } from '../record/recorder.ts';
import { loadOrphans } from '../record/store.ts';
import { createRegistry } from '../../../http/server/metrics.ts';
import { createLogger } from '../../../log.ts';
import { createWatchEvents, type WatchEvents } from './events.ts';
import { DetectorHost } from './detector-host.ts';
import type { DetectionLeader } from './leader.ts';
import { ScopeTable } from '../scopes/scope-table.ts';

export const SUBJECT = '203.0.113.10';
export const PREFIX = '203.0.113.0/24';

export function silentWatchEvents(): WatchEvents {
  return createWatchEvents(createLogger({ level: 'silent' }), createRegistry());
}

/** A message as the handlers of agents pass it on. Throws if the fleet has no such agent. */
export async function boundRequest<R extends AgentRequest>(
  db: Db,
  from: AgentRef,
  request: R,
): Promise<BoundRequest<R>> {
  const bound = await new AgentScopes(db).bind(from, request);
  if (bound === null) throw new Error(`no ${from.kind} ${from.name}`);
  return bound;
}

/** A bucket of one vector to single addresses, in packets per second. */
export function floodSample(
  atMs: number,
  rates: Readonly<Record<string, number>>,
  vector: 'udp' | 'gre' = 'udp',
): WireSample {
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
      vectors: [{ vector: VECTOR_INDEX[vector], packets, bytes: packets * 100 }],
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

function withPrefix(sample: WireSample): WireSample {
  const packets = sample.addresses.reduce((sum, one) => sum + one.packets, 0);
  const [vector] = sample.addresses.flatMap(({ vectors }) => vectors);
  const [first] = sample.addresses;
  if (first === undefined || vector === undefined) return sample;
  const bytes = packets * 100;
  const vectors = [{ ...vector, packets, bytes }];
  return {
    ...sample,
    prefixes: [{ ...first, subject: PREFIX, prefix: null, packets, bytes, vectors }],
  };
}

/** A detector and recorder with simulated time; killed by dropping it. */
export class TestWatch {
  readonly scopes: ScopeTable;
  readonly host: DetectorHost;
  readonly recorder: Recorder;
  /** It has no other replicas. */
  readonly evaluate: Pick<DetectionLeader, 'accept' | 'silentMs'> = {
    silentMs: 0,
    accept: async (...reported) => {
      this.host.accept(...reported);
      return true;
    },
  };
  readonly received: ReportedAttack[] = [];
  readonly failures: unknown[] = [];
  readonly #db: Db;
  #sequence = 0;
  nowMs: number;
  /** The offset of the wall clocks. */
  clockOffMs = 0;
  /** Whether samples have the sums of prefixes, as those of edges do. */
  countsPrefixes = false;
  edgeClockOffMs = 0;
  /** Whether changes of records reach the detector: not where the answer to a commit is lost. */
  follows = true;

  constructor(
    db: Db,
    nowMs: number,
    name = 'one',
    onAttack: (received: ReportedAttack) => void = () => {},
  ) {
    this.#db = db;
    this.nowMs = nowMs;
    this.scopes = new ScopeTable(db);
    this.recorder = new Recorder({
      db,
      name,
      onAttack: (received) => {
        this.received.push(received);
        onAttack(received);
      },
      onChange: (change) => {
        if (this.follows) this.host.follow(change);
      },
      failed: (_, error) => void this.failures.push(error),
    });
    this.host = new DetectorHost({
      scopes: this.scopes,
      recorder: this.recorder,
      nowMs: () => this.nowMs,
      wallMs: () => this.nowMs + this.clockOffMs,
    });
  }

  /** Continues ongoing attacks, as control does at its start. */
  async takeUp(): Promise<void> {
    for (const one of await loadOrphans(this.#db, 100)) {
      this.host.adopt(one, one.seenAt.getTime());
    }
  }

  /** Sends seconds of traffic by one edge, bucket by bucket, and waits until all is written. */
  async play(
    seconds: number,
    rates: Readonly<Record<string, number>>,
    vector: 'udp' | 'gre' = 'udp',
  ): Promise<void> {
    for (let bucket = 0; bucket < seconds * 4; bucket++) {
      this.nowMs += 250;
      const atMs = this.nowMs + this.edgeClockOffMs;
      const sample = floodSample(atMs, rates, vector);
      const samples = [this.countsPrefixes ? withPrefix(sample) : sample];
      this.send({ instance: 'i', atMs, samples });
    }
    await this.recorder.settled();
  }

  send(message: Omit<WatchSamples, 'kind' | 'sequence'>): void {
    this.host.accept({ kind: 'edge', name: 'fra1' }, 'fra', {
      kind: 'watch.samples',
      sequence: ++this.#sequence,
      ...message,
    });
  }
}

/** An attack of an outage, as an edge reports it. */
export function outageAttack(startedAtMs: number, endedAtMs: number, pps = 50_000): OutageAttack {
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
  };
}
