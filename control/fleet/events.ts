import { type DropEntry, PASSED_REASONS } from '@portcullis/core/firewall/drops.ts';
import type { Logger } from 'pino';
import { Counter, Histogram, type Registry } from 'prom-client';
import type { Outside } from '../agents/scope.ts';

/** A generation that every edge has. */
export interface LiveGeneration {
  readonly generation: number;
  readonly cause: string;
  /** Time from accepted to live. */
  readonly tookMs: number;
  /** The trace of the request that took it; null where it was not traced. */
  readonly traceparent: string | null;
}

/** Events of the fleet: each function writes its log line and its metric together. */
export interface FleetEvents {
  edgeHello(edge: string, mode: string, reason: string | null, isNew: boolean): void;
  edgeJoined(edge: string, generation: number): void;
  edgeLeft(edge: string, why: string): void;
  generationsLive(generations: readonly LiveGeneration[]): void;
  targetsRefused(edge: string, refused: readonly { target: string; reason: string }[]): void;
  /** An edge spoke of what it does not serve, which was removed. */
  spokeOutside(edge: string, what: string, outside: Outside): void;
  synced(edge: string, generation: number, whole: boolean, policies: number): void;
  holdingsMoved(generation: number, targets: readonly string[], lateMs: number): void;
  dropsCounted(edge: string, entries: readonly DropEntry[]): void;
  swept(what: string, rows: number): void;
  failed(what: string, error: unknown): void;
}

const REFUSALS_LOGGED = 20;

export function createFleetEvents(log: Logger, registry: Registry): FleetEvents {
  const metrics = createMetrics(registry);
  return {
    edgeHello: (edge, mode, reason, isNew) =>
      log.info({ edge, mode, reason, isNew }, 'an edge sent its hello'),
    edgeJoined(edge, generation) {
      metrics.joined.inc({ edge });
      log.info({ edge, generation }, 'an edge is in service');
    },
    edgeLeft(edge, why) {
      metrics.left.inc({ edge });
      log.warn({ edge }, `an edge left service: ${why}`);
    },
    generationsLive(generations) {
      const newest = generations.at(-1);
      if (newest === undefined) return;
      for (const { tookMs } of generations) metrics.propagation.observe(tookMs / 1000);
      const slowestMs = Math.round(Math.max(...generations.slice(-1000).map((g) => g.tookMs)));
      const { generation, cause } = newest;
      log.info({ generation, cause, count: generations.length, slowestMs }, 'live on every edge');
    },
    targetsRefused(edge, refused) {
      if (refused.length === 0) return;
      metrics.refused.inc({ edge }, refused.length);
      const first = refused.slice(0, REFUSALS_LOGGED);
      log.warn({ edge, count: refused.length, first }, 'an edge could not apply some targets');
    },
    spokeOutside(edge, what, { count, examples }) {
      metrics.outside.inc({ edge, what }, count);
      log.warn({ edge, what, count, first: examples }, 'an edge spoke of what it does not serve');
    },
    synced(edge, generation, whole, policies) {
      metrics.syncs.inc({ edge, kind: whole ? 'whole' : 'changes' });
      log.debug({ edge, generation, whole, policies }, 'an edge fetched policies');
    },
    holdingsMoved(generation, targets, lateMs) {
      metrics.moved.inc(targets.length);
      log.info({ generation, targets: targets.slice(0, 100), lateMs }, 'holdings started or ended');
    },
    dropsCounted: (edge, entries) => countDrops(metrics, edge, entries),
    swept(what, rows) {
      if (rows > 0) log.info({ what, rows }, 'old rows removed');
    },
    failed: (what, error) => log.error({ error }, `${what} failed`),
  };
}

function countDrops(
  metrics: ReturnType<typeof createMetrics>,
  edge: string,
  entries: readonly DropEntry[],
): void {
  for (const { stage, reason, by, packets, bytes } of entries) {
    const cause = { edge, stage, reason, by };
    const isPassed = PASSED_REASONS.some((passed) => passed === reason);
    (isPassed ? metrics.passedPackets : metrics.droppedPackets).inc(cause, packets);
    if (!isPassed) metrics.droppedBytes.inc(cause, bytes);
  }
}

function createMetrics(registry: Registry) {
  const registers = [registry];
  const counter = (name: string, help: string, labelNames: string[] = []) =>
    new Counter({ name: `portcullis_${name}`, help, labelNames, registers });
  return {
    joined: counter('edge_joined_total', 'Times an edge came into service.', ['edge']),
    left: counter('edge_left_total', 'Times an edge left service.', ['edge']),
    syncs: counter('edge_syncs_total', 'Syncs started, whole or of changes.', ['edge', 'kind']),
    refused: counter('edge_refusals_total', 'Targets named in confirmations as refused.', ['edge']),
    outside: counter(
      'edge_outside_total',
      'Parts of reports of edges about what they do not serve, which were removed.',
      ['edge', 'what'],
    ),
    droppedPackets: counter(
      'dropped_packets_total',
      'Packets that edges dropped, as they reported to this process.',
      ['edge', 'stage', 'reason', 'by'],
    ),
    passedPackets: counter(
      'passed_packets_total',
      'Packets that edges counted and let through: what observing mitigations would have dropped (reason observed), packets of new sources (greeted), and sources that filters validated (validated).',
      ['edge', 'stage', 'reason', 'by'],
    ),
    droppedBytes: counter(
      'dropped_bytes_total',
      'Bytes that edges dropped, as they reported to this process.',
      ['edge', 'stage', 'reason', 'by'],
    ),
    moved: counter('holdings_moved_total', 'Holdings that started or ended.'),
    propagation: new Histogram({
      name: 'portcullis_propagation_seconds',
      help: 'From accepted to live on every edge in service, for each generation.',
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
      registers,
    }),
  };
}
