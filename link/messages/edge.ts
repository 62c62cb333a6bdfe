import type { Verdict } from '@portcullis/core/firewall/decide/decide.ts';
import { KERNEL_STATES } from '@portcullis/core/firewall/edge-state.ts';
import type { EdgeAssignment, ManagementPort, Packet } from '@portcullis/core/firewall/packet.ts';
import type { RefusedTarget } from '@portcullis/core/firewall/policy.ts';
import { STAGES } from '@portcullis/core/firewall/stages.ts';
import { WATCH_REQUESTS } from './attacks.ts';
import { edgeDrops, edgeReport } from './edge-report.ts';
import { policies, sourceSets, targets } from './policy.ts';
import {
  array,
  boolean,
  integer,
  kinds,
  matching,
  natural,
  nullable,
  object,
  oneOf,
  prose,
  type Static,
  type StaticUnion,
} from './schema.ts';
import {
  address,
  agentName,
  cursor,
  devicePattern,
  instance,
  mode,
  moment,
  network,
  packetPort,
  periodMs,
  port,
  protocolVersion,
  reason,
  ref,
  sequence,
  version,
} from './values.ts';

/**
 * `observe` renders and checks policies, drops nothing, and never counts for live. `no_device` has everything in its
 * kernel, but drops nothing and does not count: live waits for another edge, or until it has a device.
 */
export type EdgeMode = Static<typeof mode>;

const octet = integer(0, 255);
const packet = object<Packet>({
  family: oneOf(4, 6),
  source: address,
  destination: address,
  protocol: octet,
  sourcePort: nullable(packetPort),
  destinationPort: nullable(packetPort),
  icmp: nullable(object<NonNullable<Packet['icmp']>>({ type: octet, code: octet })),
  hopLimit: octet,
  fragment: oneOf('none', 'first', 'later'),
});

const verdict = object<Verdict>({
  action: oneOf('pass', 'drop'),
  stage: oneOf(...STAGES.map(({ name }) => name)),
  ref: nullable(ref),
  observed: array(ref, 1_000),
});

/** The verdict of an edge on a packet, by the policy that it loaded into its kernel last. */
const liveVerdict = object({
  mode,
  /** Generation of the policy that decided. */
  generation: natural,
  verdict,
  /** The verdict in words. */
  explanation: prose(2_000),
  /** Target of the policy: the destination, or a prefix that contains it. Null when no policy covers it. */
  target: nullable(network),
  /** Fingerprint of the policy (policy-fingerprint.ts), so that control can compare it with the accepted one. */
  fingerprint: nullable(matching(/^[\x21-\x7e]{1,128}$/, 'a fingerprint')),
  kernel: oneOf(...KERNEL_STATES),
});
export type LiveVerdict = Static<typeof liveVerdict>;

const refusedTarget = object<RefusedTarget>({
  // The target of one of control's own policies; control ignores a target that it does not know.
  target: matching(/^[0-9a-f.:/]{2,64}$/, 'a target'),
  reason,
  goodGeneration: natural,
});

/**
 * Refused targets of one confirmation that control records. The schema takes more, because an edge of version 0.1 sends
 * as many as there are: such a confirmation is refused, and does not end the connection.
 */
export const MAX_REFUSED_TARGETS = 4_096;

/** Requests of an edge. All are idempotent, so an agent may repeat a request that was not answered. */
export const EDGE_REQUESTS = {
  ...kinds({
    /** The first message on every connection. A new instance must resync before it counts for live. */
    'edge.hello': {
      protocolVersion,
      instance,
      mode,
      /** Why an edge that should enforce only observes, in words; null when it does what was configured. */
      modeReason: nullable(reason),
    },
    /** Requests everything that changed after `after`; 0 and a null cursor request everything. */
    'edge.sync': {
      instance,
      /** The newest generation that this instance holds completely; 0 for none. */
      after: natural,
      /** `next` of the previous page; null for the first page. */
      cursor: nullable(cursor),
      /** Version of the source sets that the edge holds; null for none. */
      sourceSetsVersion: nullable(version),
    },
    /** The kernel has `generation`, except for the refused targets, which stay at their last good one. */
    'edge.confirm': { instance, generation: natural, refused: array(refusedTarget, 100_000) },
    /** Sent every `heartbeatMs`. Renews the lease, and reports. */
    'edge.heartbeat': {
      instance,
      mode,
      modeReason: nullable(reason),
      generation: natural,
      report: edgeReport,
    },
    /**
     * Packets dropped since the last report that was answered. The edge repeats a sequence number until it is
     * answered, and control counts it once. A control plane one version behind answers `unsupported`.
     */
    'edge.drops': {
      instance,
      sequence,
      /** The edge's clock at sending; control derives the error of that clock from it. */
      atMs: moment,
      drops: edgeDrops,
    },
  }),
  ...WATCH_REQUESTS,
};
export type EdgeRequest = StaticUnion<typeof EDGE_REQUESTS>;
export type EdgeHello = Static<(typeof EDGE_REQUESTS)['edge.hello']>;
export type EdgeSync = Static<(typeof EDGE_REQUESTS)['edge.sync']>;
export type EdgeConfirm = Static<(typeof EDGE_REQUESTS)['edge.confirm']>;
export type EdgeHeartbeat = Static<(typeof EDGE_REQUESTS)['edge.heartbeat']>;
export type EdgeDropReport = Static<(typeof EDGE_REQUESTS)['edge.drops']>;

/** The operator's settings for an edge. */
export const edgeAssignment = object<EdgeAssignment>({
  name: agentName,
  site: prose(255),
  devices: array(devicePattern, 256),
  management: array(object<ManagementPort>({ protocol: oneOf('tcp', 'udp'), port }), 1_000),
  sees: oneOf('both', 'inbound'),
  fragments: oneOf('reassemble', 'limit'),
});

export const EDGE_REPLIES = kinds({
  'edge.welcome': {
    protocolVersion,
    generation: natural,
    settings: edgeAssignment,
    heartbeatMs: periodMs,
    resyncMs: periodMs,
  },
  /** One page of a sync. All pages are read at one generation. An edge applies nothing before the last page. */
  'edge.page': {
    generation: natural,
    /** The policies of the sync are complete: the edge drops all others. Otherwise `removed` names those to drop. */
    whole: boolean,
    policies,
    removed: targets,
    /**
     * Null unless the edge holds another version or needs other sets. All countries together exceed one message,
     * so several pages may carry parts of a set; the edge joins sets of the same name.
     */
    sourceSets: nullable(sourceSets),
    /** The operator's settings for this edge at this generation. */
    settings: edgeAssignment,
    /** Null on the last page. */
    next: nullable(cursor),
  },
});
export type EdgeWelcome = Static<(typeof EDGE_REPLIES)['edge.welcome']>;
export type EdgePage = Static<(typeof EDGE_REPLIES)['edge.page']>;

/**
 * Everything that generations after `after` changed, until `generation`, for one edge. As small as one page of a
 * sync.
 */
const changes = object({
  after: natural,
  generation: natural,
  policies,
  removed: targets,
  /** The source sets that these policies need: an edge that holds other ones syncs. */
  sourceSetsVersion: version,
  settings: edgeAssignment,
});
export type EdgeChanges = Static<typeof changes>;

export const EDGE_NOTICES = kinds({
  /**
   * There is a new generation. Null: the edge fetches it by a sync, as it does if it lacks what `changes` begin
   * after.
   */
  'edge.changed': { edge: agentName, changes: nullable(changes) },
});
export type EdgeChanged = Static<(typeof EDGE_NOTICES)['edge.changed']>;

/** Calls of control to an edge. */
export const EDGE_CALLS = kinds({
  /** Asks what the edge does with this packet. */
  'edge.explain': { packet },
});
export type EdgeCall = StaticUnion<typeof EDGE_CALLS>;

export const EDGE_ANSWERS = kinds({ 'edge.verdict': { live: liveVerdict } });
export type EdgeAnswer = StaticUnion<typeof EDGE_ANSWERS>;
