import { MITIGATION_MODES, type WatchScope } from '@portcullis/core/attacks/scope-settings.ts';
import type { MitigationAction } from '@portcullis/core/attacks/actions.ts';
import type { Attack, AttackType, Measured, Share } from '@portcullis/core/attacks/attack.ts';
import type { SubjectSample, VectorCount } from '@portcullis/core/attacks/sample.ts';
import type { Sampled } from '@portcullis/core/attacks/respond.ts';
import { REFLECTORS, type Reflector, VECTOR_COUNT } from '@portcullis/core/attacks/vectors.ts';
import { filterType, mitigationLimit, network } from './parse-policy.ts';
import { address, moment } from './parse-report.ts';
import { type AttackSeries, MAX_SERIES_POINTS } from '@portcullis/core/attacks/series.ts';
import { cursor, instance } from './session-shapes.ts';
import {
  between,
  byKind,
  check,
  flag,
  integer,
  list,
  matching,
  nullable,
  object,
  oneOf,
  optional,
  plainObject,
  type Shape,
  text,
} from './shape.ts';
import {
  type CancelledAttack,
  MAX_ATTACKS_PER_MESSAGE,
  MAX_CANCELLED,
  MAX_OVERLAY_ACTIONS,
  MAX_SAFELIST,
  MAX_SAMPLES_PER_MESSAGE,
  MAX_SCOPES_PER_PAGE,
  MAX_SUBJECTS_PER_SAMPLE,
  MAX_TOPS_PER_SAMPLE,
  type OverlayAction,
  type WatchNotice,
  type WatchRequest,
  type WatchSettings,
  type WireAttack,
  type WireSample,
} from './watch-messages.ts';
import {
  MAX_TOPS,
  type SubjectTops,
  type TopPort,
  type TopSource,
} from '@portcullis/core/attacks/top-talkers.ts';

/** Packets, bytes and rates beyond any network. */
const count = between(0, 1e15);
/** An estimate's variance grows with the square of the sampling rate. */
const variance = between(0, 1e30);
const threshold = integer(1, 1_000_000_000_000_000);
const MAX_HOLD_MS = 86_400_000;
/** What lasts longer than a minute is no bucket; an edge that stood still begins anew. */
const MAX_BUCKET_MS = 60_000;
const version = matching(/^[\x21-\x7e]{1,128}$/, 'a version');
const sequence = integer(1, Number.MAX_SAFE_INTEGER);

/** Also of what an edge keeps on its disk. */
export const watchScope = object<WatchScope>({
  scope: network,
  pps: threshold,
  bps: threshold,
  holdMs: integer(1, MAX_HOLD_MS),
  mitigation: oneOf(...MITIGATION_MODES),
  safelist: list(network, MAX_SAFELIST),
  subject: flag,
});

/** Also of what an edge keeps on its disk; what an older control, or agent, says nothing of, is none. */
export const cancelledAttacks = optional(
  list(object<CancelledAttack>({ subject: network, startedAtMs: moment }), MAX_CANCELLED),
  [],
);

const vectorCount = object<VectorCount>({
  vector: integer(0, 255),
  packets: count,
  bytes: count,
});
/** A newer sender may tell vectors apart that are not known here: those are left out, their packets still count. */
const knownVectors: Shape<VectorCount[]> = (value, at) =>
  list(vectorCount, 256)(value, at).filter(({ vector }) => vector < VECTOR_COUNT);

const subjectSample = object<SubjectSample>({
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
});
const subjects = list(subjectSample, MAX_SUBJECTS_PER_SAMPLE);

const portCount = object<Omit<TopPort, 'protocol'>>({ port: integer(0, 65_535), packets: count });
const portProtocol = oneOf('tcp', 'udp');
const topPort: Shape<TopPort> = (value, at) => {
  const of = plainObject(value, at)['protocol'];
  const named = portCount(value, at);
  return of === undefined ? named : { ...named, protocol: portProtocol(of, `${at}/protocol`) };
};
const sampled = object<Sampled>({ samples: integer(1, 1_000_000), packets: between(1, 1e15) });
const tops = object<Omit<SubjectTops, 'sampled'>>({
  subject: network,
  sources: list(object<TopSource>({ source: address, packets: count }), MAX_TOPS),
  sourcePorts: list(topPort, MAX_TOPS),
  destinationPorts: list(topPort, MAX_TOPS),
});
/** Whoever counts every packet says nothing of samples. */
const subjectTops: Shape<SubjectTops> = (value, at) => {
  const of = plainObject(value, at)['sampled'];
  const named = tops(value, at);
  return of === undefined ? named : { ...named, sampled: sampled(of, `${at}/sampled`) };
};

const wireSample = object<WireSample>({
  atMs: moment,
  durationMs: between(1, MAX_BUCKET_MS),
  addresses: subjects,
  prefixes: subjects,
  tops: list(subjectTops, MAX_TOPS_PER_SAMPLE),
});

/** Whether control would take it: one that it does not take ends the connection, and with it everything else. */
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

/** Also of what an edge keeps on its disk. */
export const attack = object<Attack>({
  id: text(128),
  subject: network,
  type: attackType,
  shares: list(object<Share>({ type: attackType, share: between(0, 1) }), ATTACK_TYPES.length),
  peakPps: measured,
  peakBps: measured,
  startedAtMs: moment,
  endedAtMs: nullable(moment),
});

const protocol = oneOf('tcp', 'udp', 'icmp', 'gre', 'esp', 'any');
const port = integer(1, 65_535);
/** Also of what an edge keeps on its disk. */
export const mitigationAction = byKind<MitigationAction>({
  reflector: object({
    kind: oneOf('reflector'),
    reflector: oneOf(...(Object.keys(REFLECTORS) as Reflector[])),
  }),
  fragments: object({ kind: oneOf('fragments') }),
  source: object({ kind: oneOf('source'), source: network, protocol }),
  limit: object({
    kind: oneOf('limit'),
    protocol,
    port: nullable(port),
    fragment: oneOf('any', 'later'),
    limit: mitigationLimit,
  }),
  filter: object({ kind: oneOf('filter'), type: filterType, port }),
});

/** Also of what control keeps as evidence. */
export const overlayAction = object<OverlayAction>({
  action: mitigationAction,
  mode: oneOf('enforce', 'observe'),
  sinceMs: moment,
  untilMs: nullable(moment),
});

const points = list(count, MAX_SERIES_POINTS);
const series: Shape<AttackSeries> = (value, at) => {
  const { startMs, stepMs, pps, bps } = object<AttackSeries>({
    startMs: moment,
    stepMs: integer(1, MAX_HOLD_MS),
    pps: points,
    bps: points,
  })(value, at);
  const length = Math.min(pps.length, bps.length);
  return { startMs, stepMs, pps: pps.slice(0, length), bps: bps.slice(0, length) };
};

/** Also of what an edge keeps on its disk. */
export const wireAttack: Shape<WireAttack> = (value, at) => ({
  ...attack(value, at),
  ...object<Omit<WireAttack, keyof Attack>>({
    openedAtMs: moment,
    mitigatedAtMs: nullable(moment),
    actions: list(overlayAction, MAX_OVERLAY_ACTIONS),
    tops: nullable(subjectTops),
    series,
  })(value, at),
});

/** Whether control would take it. */
export function isWireAttack(value: WireAttack): boolean {
  return check(wireAttack, value).ok;
}

export const WATCH_REQUESTS: {
  readonly [K in WatchRequest['kind']]: Shape<Extract<WatchRequest, { kind: K }>>;
} = {
  'watch.ask': object({
    kind: oneOf('watch.ask'),
    instance,
    version: nullable(version),
    cursor: nullable(cursor),
  }),
  'watch.samples': object({
    kind: oneOf('watch.samples'),
    instance,
    sequence,
    atMs: moment,
    samples: list(wireSample, MAX_SAMPLES_PER_MESSAGE),
  }),
  'edge.attacks': object({
    kind: oneOf('edge.attacks'),
    instance,
    sequence,
    atMs: moment,
    attacks: list(wireAttack, MAX_ATTACKS_PER_MESSAGE),
  }),
};

export const WATCH_REPLIES: { readonly 'watch.settings': Shape<Required<WatchSettings>> } = {
  'watch.settings': object({
    kind: oneOf('watch.settings'),
    version,
    scopes: nullable(list(watchScope, MAX_SCOPES_PER_PAGE)),
    cancelled: cancelledAttacks,
    next: nullable(cursor),
  }),
};

export const WATCH_NOTICES: { readonly watch: Shape<WatchNotice> } = {
  watch: object({ kind: oneOf('watch'), version }),
};
