import type { ManagementPort, EdgeAssignment } from '@portcullis/core/firewall/packet.ts';
import type { Parsed } from '@portcullis/core/net/parsed.ts';
import type { AgentRef, AgentRequest, ControlReply, EdgeRequest, Notice } from './messages.ts';
import type { RefusedTarget } from '@portcullis/core/firewall/policy.ts';
import { COLLECTOR_NOTICES, COLLECTOR_REPLIES, COLLECTOR_REQUESTS } from './parse-collector.ts';
import { liveVerdict, packet } from './parse-explain.ts';
import { NODE_NOTICES, NODE_REPLIES, NODE_REQUESTS } from './parse-node.ts';
import { policies, sourceSets, targets } from './parse-policy.ts';
import { WATCH_NOTICES, WATCH_REPLIES, WATCH_REQUESTS } from './parse-watch.ts';
import { deviceName, drops, moment, report } from './parse-report.ts';
import {
  check,
  flag,
  integer,
  list,
  matching,
  nullable,
  object,
  oneOf,
  plainObject,
  prose,
  type Shape,
  whole,
} from './shape.ts';
import { AGENT_NAME, cursor, instance, questionId } from './session-shapes.ts';

/**
 * What a peer sent, checked before anybody acts on it. Unknown fields are dropped (a newer peer may send
 * them). `unknownKind` tells a message that this version does not know, which is answered with
 * `unsupported`, from rubbish, which ends the connection.
 */
export type ParsedMessage<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: string; readonly unknownKind: string | null };

const mode = oneOf('enforce', 'observe');
const reason = prose(2_000);

const agentRef = object<AgentRef>({
  kind: oneOf('edge', 'node', 'collector'),
  name: matching(AGENT_NAME, 'the name of an agent'),
});

const refusedTarget = object<RefusedTarget>({
  // Echoed from control's own policies and looked up there, so a malformed one simply matches nothing.
  target: matching(/^[0-9a-f.:/]{2,64}$/, 'a target'),
  reason,
  goodGeneration: whole,
});

const EDGE_REQUESTS: {
  readonly [K in EdgeRequest['kind']]: Shape<Extract<EdgeRequest, { kind: K }>>;
} = {
  'edge.hello': object({
    kind: oneOf('edge.hello'),
    protocolVersion: integer(0, 1_000_000),
    instance,
    mode,
    modeReason: nullable(reason),
  }),
  'edge.sync': object({
    kind: oneOf('edge.sync'),
    instance,
    after: whole,
    cursor: nullable(cursor),
    sourceSetsVersion: nullable(matching(/^[\x21-\x7e]{1,128}$/, 'a version')),
  }),
  'edge.confirm': object({
    kind: oneOf('edge.confirm'),
    instance,
    generation: whole,
    refused: list(refusedTarget, 100_000),
  }),
  'edge.heartbeat': object({
    kind: oneOf('edge.heartbeat'),
    instance,
    mode,
    modeReason: nullable(reason),
    generation: whole,
    report,
  }),
  'edge.drops': object({
    kind: oneOf('edge.drops'),
    instance,
    sequence: integer(1, Number.MAX_SAFE_INTEGER),
    atMs: moment,
    drops,
  }),
  'edge.answer': object({
    kind: oneOf('edge.answer'),
    instance,
    id: questionId,
    answer: liveVerdict,
  }),
  ...WATCH_REQUESTS,
};

const managementPort = object<ManagementPort>({
  protocol: oneOf('tcp', 'udp'),
  port: integer(1, 65_535),
});

/** Also of what an edge keeps on its disk. */
export const edgeAssignment = object<EdgeAssignment>({
  name: matching(AGENT_NAME, 'the name of an edge'),
  site: prose(255),
  devices: list(deviceName, 256),
  management: list(managementPort, 1_000),
  sees: oneOf('both', 'inbound'),
  fragments: oneOf('reassemble', 'limit'),
});

const REPLIES: { readonly [K in ControlReply['kind']]: Shape<Extract<ControlReply, { kind: K }>> } =
  {
    'edge.welcome': object({
      kind: oneOf('edge.welcome'),
      protocolVersion: integer(0, 1_000_000),
      generation: whole,
      settings: edgeAssignment,
      // Kept apart from zero: an agent must not spin, whatever it is told.
      heartbeatMs: integer(10, 86_400_000),
      resyncMs: integer(10, 86_400_000),
    }),
    'edge.page': object({
      kind: oneOf('edge.page'),
      generation: whole,
      whole: flag,
      policies,
      removed: targets,
      sourceSets: nullable(sourceSets),
      settings: edgeAssignment,
      next: nullable(cursor),
    }),
    ...WATCH_REPLIES,
    ...COLLECTOR_REPLIES,
    ...NODE_REPLIES,
    done: object({ kind: oneOf('done') }),
    refused: object({
      kind: oneOf('refused'),
      code: oneOf('resync', 'unknown_agent', 'unsupported', 'stale', 'unavailable'),
      detail: reason,
    }),
  };

const NOTICES: { readonly [K in Notice['kind']]: Shape<Extract<Notice, { kind: K }>> } = {
  generation: object({ kind: oneOf('generation'), generation: whole }),
  question: object({
    kind: oneOf('question'),
    id: questionId,
    edges: list(matching(AGENT_NAME, 'the name of an edge'), 10_000),
    withinMs: integer(1, 60_000),
    packet,
  }),
  ...WATCH_NOTICES,
  ...COLLECTOR_NOTICES,
  ...NODE_NOTICES,
};

const REQUESTS: Readonly<Record<AgentRef['kind'], Readonly<Record<string, Shape<AgentRequest>>>>> =
  {
    edge: EDGE_REQUESTS,
    node: NODE_REQUESTS,
    collector: COLLECTOR_REQUESTS,
  };

export function parseAgentRef(value: unknown): Parsed<AgentRef> {
  return check(agentRef, value);
}
/** What an agent of this kind may say; a message of another kind is one that it does not know. */
export function parseRequest(from: AgentRef['kind'], value: unknown): ParsedMessage<AgentRequest> {
  return parseByKind<AgentRequest>(REQUESTS[from], value);
}
export function parseReply(value: unknown): ParsedMessage<ControlReply> {
  return parseByKind<ControlReply>(REPLIES, value);
}
export function parseNotice(value: unknown): ParsedMessage<Notice> {
  return parseByKind<Notice>(NOTICES, value);
}

function parseByKind<T>(
  shapes: Readonly<Record<string, Shape<T>>>,
  value: unknown,
): ParsedMessage<T> {
  const kind = check(plainObject, value);
  if (!kind.ok) return { ...kind, unknownKind: null };
  const name = kind.value['kind'];
  if (typeof name !== 'string')
    return { ok: false, reason: '/kind is not a string', unknownKind: null };
  const shape = Object.hasOwn(shapes, name) ? shapes[name] : undefined;
  if (shape === undefined) {
    const short = name.slice(0, 64);
    return { ok: false, reason: `there is no kind ${JSON.stringify(short)}`, unknownKind: short };
  }
  const checked = check(shape, value);
  return checked.ok ? checked : { ...checked, unknownKind: null };
}
