import type { MitigationAction } from '@portcullis/core/attacks/mitigation/actions.ts';
import type { Attack, AttackType, Measured, Share } from '@portcullis/core/attacks/attack.ts';
import type { SubjectSample, VectorCount } from '@portcullis/core/attacks/sample.ts';
import {
  MITIGATION_MODES,
  type WatchScope,
} from '@portcullis/core/attacks/detector/scope-settings.ts';
import {
  MAX_TOPS,
  type Sampled,
  SOURCE_PROTOCOLS,
  type SubjectTops,
  type TopPort,
  type TopSource,
} from '@portcullis/core/attacks/top-talkers.ts';
import { REFLECTORS, type Reflector, VECTOR_COUNT } from '@portcullis/core/attacks/vectors.ts';
import { filterType, mitigationLimit } from './policy.ts';
import {
  array,
  boolean,
  check,
  integer,
  kinds,
  nullable,
  number,
  object,
  oneOf,
  optional,
  type Schema,
  type Static,
  type StaticUnion,
  text,
  union,
  withDefault,
} from './schema.ts';
import {
  address,
  cursor,
  instance,
  mode,
  moment,
  network,
  packetPort,
  port,
  protocol,
  sequence,
  version,
} from './values.ts';

/**
 * Messages about attacks, between control and the agents that count traffic (edges and collectors). They are
 * separate from the messages that carry policies, and are sent after them.
 */

/** Older cancellations are left out; an edge without control acts against those attacks again. */
export const MAX_CANCELLED = 256;
export const MAX_WATCH_SCOPES = 100_000;
/** A page may hold fewer: `MAX_MESSAGE_BYTES`. */
export const MAX_SCOPES_PER_PAGE = 10_000;
export const MAX_SAFELIST = 1_000;
export const MAX_SAMPLES_PER_MESSAGE = 8;
/** For addresses and prefixes of a sample together. */
export const MAX_SUBJECTS_PER_SAMPLE = 2_048;
/** A subject below this part of its threshold is not sent. */
export const SENT_SHARE = 1 / 32;
export const MAX_TOPS_PER_SAMPLE = 256;
export const MAX_ATTACKS_PER_MESSAGE = 64;
/** The last ones are kept. An attack that changes its type has actions of each type. */
export const MAX_OVERLAY_ACTIONS = 64;
const MAX_HOLD_MS = 86_400_000;
/** A longer bucket is not a measurement; an edge that was suspended starts a new one. */
const MAX_BUCKET_MS = 60_000;

/** Packets, bytes and rates; the limit is beyond any network. */
const count = number(0, 1e15);
/** The variance of an estimate grows with the square of the sampling rate. */
const variance = number(0, 1e30);
const threshold = integer(1, 1_000_000_000_000_000);

/** Agents also store it on disk. */
export const watchScope = object<WatchScope>({
  scope: network,
  pps: threshold,
  bps: threshold,
  holdMs: integer(1, MAX_HOLD_MS),
  mitigation: oneOf(...MITIGATION_MODES),
  safelist: array(network, MAX_SAFELIST),
  subject: boolean,
});

/** An attack against which no agent may act any more, for as long as it is the same attack. */
const cancelledAttack = object({ subject: network, startedAtMs: moment });
export type CancelledAttack = Static<typeof cancelledAttack>;
/** Agents also store them on disk. */
export const cancelledAttacks = array(cancelledAttack, MAX_CANCELLED);

const vectorCount = object<VectorCount>({
  vector: integer(0, 255),
  packets: count,
  bytes: count,
});
const anyVectors = array(vectorCount, 256);
/** Leaves out vectors that only a newer sender knows; their packets still count in the totals. */
const knownVectors: Schema<readonly VectorCount[]> = (value, at) =>
  anyVectors(value, at).filter(({ vector }) => vector < VECTOR_COUNT);

const subjects = array(
  object<SubjectSample>({
    subject: network,
    prefix: nullable(network),
    packets: count,
    bytes: count,
    dataPackets: count,
    dataBytes: count,
    receiptPackets: count,
    packetVariance: variance,
    byteVariance: variance,
    vectors: knownVectors,
  }),
  MAX_SUBJECTS_PER_SAMPLE,
);

const topPorts = array(
  object<TopPort>({
    port: packetPort,
    protocol: optional(oneOf('tcp', 'udp')),
    packets: count,
  }),
  MAX_TOPS,
);
const topSource = object<TopSource>({
  source: address,
  protocol: optional(oneOf(...SOURCE_PROTOCOLS)),
  packets: count,
  answered: optional(count),
});
const subjectTops = object<SubjectTops>({
  subject: network,
  sources: array(topSource, MAX_TOPS),
  sourcePorts: topPorts,
  destinationPorts: topPorts,
  // Missing where every packet is counted.
  sampled: optional(object<Sampled>({ samples: integer(1, 1_000_000), packets: number(1, 1e15) })),
});

/** A `Sample` of core, without the subjects that receive little. */
const wireSample = object({
  atMs: moment,
  durationMs: number(1, MAX_BUCKET_MS),
  addresses: subjects,
  prefixes: subjects,
  /** Evidence, only of subjects near their thresholds. */
  tops: array(subjectTops, MAX_TOPS_PER_SAMPLE),
});
export type WireSample = Static<typeof wireSample>;

/** Whether control accepts it. A message that control refuses ends the agent's connection. */
export function isWireSample(value: WireSample): boolean {
  return check(wireSample, value).ok;
}

const ATTACK_TYPES: readonly AttackType[] = [
  'udp_flood',
  'tcp_syn_flood',
  'tcp_syn_ack_flood',
  'tcp_ack_flood',
  'tcp_rst_flood',
  'icmp_flood',
  'gre_flood',
  'ip_fragment_flood',
  ...(Object.keys(REFLECTORS) as Reflector[]).map((name) => `${name}_amplification` as const),
  'multi_vector',
  'other_flood',
];
const attackType = oneOf(...ATTACK_TYPES);
const measured = object<Measured>({ value: count, low: count, high: count });
const share = object<Share>({ type: attackType, share: number(0, 1) });

/** Edges also store it on disk. */
export const mitigationAction = union<MitigationAction>(
  kinds({
    reflector: { reflector: oneOf(...(Object.keys(REFLECTORS) as Reflector[])) },
    fragments: {},
    source: { source: network, protocol },
    limit: {
      protocol,
      port: nullable(port),
      fragment: oneOf('any', 'later'),
      limit: mitigationLimit,
    },
    filter: { type: filterType, port },
  }),
);

/**
 * An action that an edge took, or in mode `observe` only marked, without control. Control also stores it as evidence.
 */
export const overlayAction = object({
  action: mitigationAction,
  mode,
  sinceMs: moment,
  /** When the edge withdrew it; null while it is active. */
  untilMs: nullable(moment),
});
export type OverlayAction = Static<typeof overlayAction>;

/** An attack that an edge detected while control did not answer. */
export interface OutageAttack extends Omit<Attack, 'present'> {
  /** The time of its last traffic, at most that of the report. */
  readonly endedAtMs: number;
  /** When the edge's detector opened it. */
  readonly openedAtMs: number;
  /** When the kernel had the first mitigation of the edge itself; null if there was none. */
  readonly mitigatedAtMs: number | null;
  readonly actions: readonly OverlayAction[];
  readonly tops: SubjectTops | null;
}
/** Edges also store it on disk. */
export const outageAttack = object<OutageAttack>({
  id: text(128),
  subject: network,
  type: attackType,
  shares: array(share, ATTACK_TYPES.length),
  peakPps: measured,
  peakBps: measured,
  startedAtMs: moment,
  endedAtMs: moment,
  openedAtMs: moment,
  mitigatedAtMs: nullable(moment),
  actions: array(overlayAction, MAX_OVERLAY_ACTIONS),
  tops: nullable(subjectTops),
});

/** Detection continues without an answer. */
export const WATCH_REQUESTS = kinds({
  /** Requests the settings of detection: after hello, at each resync, and on a `watch` notice. */
  'detection.getSettings': {
    instance,
    /** Version of the settings that the agent holds completely; null for none. */
    version: nullable(version),
    /** `next` of the previous page; null for the first page. */
    cursor: nullable(cursor),
  },
  /** Samples that are not answered in time are dropped, and newer ones are sent. */
  'watch.samples': {
    instance,
    /** A gap means dropped samples. */
    sequence,
    /** The sender's clock at sending. */
    atMs: moment,
    /** Oldest first. */
    samples: array(wireSample, MAX_SAMPLES_PER_MESSAGE),
  },
  /** Attacks of an outage of control. The edge stores them until they are answered; control records each once. */
  'edge.attacks': {
    instance,
    /** The edge's clock at sending: control dates attacks by their age. */
    atMs: moment,
    attacks: array(outageAttack, MAX_ATTACKS_PER_MESSAGE),
  },
});
export type WatchRequest = StaticUnion<typeof WATCH_REQUESTS>;
export type SettingsRequest = Static<(typeof WATCH_REQUESTS)['detection.getSettings']>;
export type WatchSamples = Static<(typeof WATCH_REQUESTS)['watch.samples']>;
export type EdgeAttacks = Static<(typeof WATCH_REQUESTS)['edge.attacks']>;

export const WATCH_REPLIES = kinds({
  /** One page of settings. All pages have one version; if it changes, the agent starts again. */
  'watch.settings': {
    version,
    /** Canonical, each once. Null when the version in the request is current. */
    scopes: nullable(array(watchScope, MAX_SCOPES_PER_PAGE)),
    /** On the first page only. */
    cancelled: withDefault(cancelledAttacks, []),
    next: nullable(cursor),
  },
});
type ReadSettings = Static<(typeof WATCH_REPLIES)['watch.settings']>;
/** Settings as control sends it. */
export type WatchSettings = Omit<ReadSettings, 'cancelled'> &
  Partial<Pick<ReadSettings, 'cancelled'>>;

/** The settings now have this version. */
export const WATCH_NOTICES = kinds({ watch: { version } });
