import type { Parsed } from '@portcullis/core/net/parsed.ts';
import { WATCH_NOTICES, WATCH_REPLIES, type WatchSettings } from './attacks.ts';
import {
  COLLECTOR_NOTICES,
  COLLECTOR_REPLIES,
  COLLECTOR_REQUESTS,
  type CollectorRequest,
} from './collector.ts';
import {
  EDGE_ANSWERS,
  EDGE_CALLS,
  EDGE_NOTICES,
  EDGE_REPLIES,
  EDGE_REQUESTS,
  type EdgeAnswer,
  type EdgeCall,
  type EdgeRequest,
} from './edge.ts';
import { FILE_ANSWERS, FILE_CALLS, type FileAnswer, type FileCall } from './files.ts';
import {
  NODE_ANSWERS,
  NODE_CALLS,
  NODE_NOTICES,
  NODE_REPLIES,
  NODE_REQUESTS,
  type NodeAnswer,
  type NodeCall,
  type NodeImageCall,
  type NodeRequest,
} from './node.ts';
import {
  anyObject,
  check,
  kinds,
  nullable,
  object,
  oneOf,
  type Schema,
  type Static,
  type StaticUnion,
} from './schema.ts';
import { agentName, credentialText, reason } from './values.ts';

/**
 * All messages between control and its agents. An agent one version behind still works: after the first release fields
 * are only added, with a default; unknown fields are ignored, and unknown kinds are answered with `unsupported`.
 */
export const PROTOCOL_VERSION = 1;
export const OLDEST_PROTOCOL_VERSION = 1;

/** The sender of a request. The transport authenticates it: see `Admit` in `transport.ts`. */
export const agentRef = object({ kind: oneOf('edge', 'node', 'collector'), name: agentName });
export type AgentRef = Static<typeof agentRef>;

/** The requests of agents of all kinds. `agent.renew`: is there another credential for me? */
const COMMON_REQUESTS = kinds({ 'agent.renew': {} });
export type RenewRequest = StaticUnion<typeof COMMON_REQUESTS>;

/** Each kind of agent has its own requests; those of another kind are answered with `unsupported`. */
interface OwnRequests {
  readonly edge: EdgeRequest;
  readonly node: NodeRequest;
  readonly collector: CollectorRequest;
}
export type AgentRequest = OwnRequests[AgentRef['kind']] | RenewRequest;

const OWN_REQUESTS = { edge: EDGE_REQUESTS, node: NODE_REQUESTS, collector: COLLECTOR_REQUESTS };
const REQUESTS: Readonly<Record<AgentRef['kind'], Readonly<Record<string, Schema<AgentRequest>>>>> =
  {
    edge: { ...OWN_REQUESTS.edge, ...COMMON_REQUESTS },
    node: { ...OWN_REQUESTS.node, ...COMMON_REQUESTS },
    collector: { ...OWN_REQUESTS.collector, ...COMMON_REQUESTS },
  };

/** Whether an agent of this kind has such a request, beside those that all kinds have. */
export function isRequestOf<Kind extends AgentRef['kind']>(
  kind: Kind,
  request: AgentRequest,
): request is OwnRequests[Kind] {
  return Object.hasOwn(OWN_REQUESTS[kind], request.kind);
}

const REPLIES = {
  ...EDGE_REPLIES,
  ...WATCH_REPLIES,
  ...COLLECTOR_REPLIES,
  ...NODE_REPLIES,
  ...kinds({
    done: {},
    /** The contents of a credential file; null: the present one is young enough. */
    renewal: { credential: nullable(credentialText) },
    /** `resync`: start again with hello and a whole sync. `unknown_agent`: the fleet has no such agent. */
    refused: {
      code: oneOf('resync', 'unknown_agent', 'unsupported', 'stale', 'unavailable'),
      detail: reason,
    },
  }),
};
export type ControlReply = StaticUnion<Omit<typeof REPLIES, 'watch.settings'>> | WatchSettings;
export type Refused = Static<(typeof REPLIES)['refused']>;

/** Calls of control to one agent: each has one answer. */
const CALLS = { ...EDGE_CALLS, ...NODE_CALLS, ...FILE_CALLS };
export type AgentCall = EdgeCall | NodeCall | NodeImageCall | FileCall;
const ANSWERS: Readonly<Record<AgentCall['kind'], Readonly<Record<string, Schema<AgentAnswer>>>>> =
  {
    'edge.explain': EDGE_ANSWERS,
    'node.call': NODE_ANSWERS,
    'node.image': NODE_ANSWERS,
    'node.files': FILE_ANSWERS,
  };
export type AgentAnswer = EdgeAnswer | NodeAnswer | FileAnswer;
export type AnswerTo<C extends AgentCall> = C extends EdgeCall
  ? EdgeAnswer
  : C extends FileCall
    ? FileAnswer
    : NodeAnswer;

/**
 * Control to agents, without an answer. A lost notice loses nothing: the agent's timer asks anyway. An agent receives
 * only notices that are for it (`isFor`).
 */
const NOTICES = { ...EDGE_NOTICES, ...WATCH_NOTICES, ...COLLECTOR_NOTICES, ...NODE_NOTICES };
export type Notice = StaticUnion<typeof NOTICES>;

/** The kinds of agents that a notice is for; `names` are null for all of these kinds. */
export function audienceOf(notice: Notice): {
  readonly kinds: readonly AgentRef['kind'][];
  readonly names: readonly string[] | null;
} {
  switch (notice.kind) {
    case 'edge.changed':
      return { kinds: ['edge'], names: [notice.edge] };
    case 'watch':
      return { kinds: ['edge', 'collector'], names: null };
    case 'collectors':
      return { kinds: ['collector'], names: null };
    case 'node.access':
      return { kinds: ['node'], names: null };
    case 'node.assignments':
    default:
      return { kinds: ['node'], names: notice.nodes };
  }
}

export function isFor(notice: Notice, { kind, name }: AgentRef): boolean {
  const { kinds, names } = audienceOf(notice);
  return kinds.includes(kind) && (names === null || names.includes(name));
}

/**
 * `unknownKind` tells a message of a kind that this version does not know, which is answered with `unsupported`,
 * from an invalid message, which ends the connection.
 */
type ParsedMessage<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: string; readonly unknownKind: string | null };

export function parseAgentRef(value: unknown): Parsed<AgentRef> {
  return check(agentRef, value);
}
/** The requests of other kinds of agents are unknown here. */
export function parseRequest(from: AgentRef['kind'], value: unknown): ParsedMessage<AgentRequest> {
  return parseByKind<AgentRequest>(REQUESTS[from], value);
}
export function parseReply(value: unknown): ParsedMessage<ControlReply> {
  return parseByKind<ControlReply>(REPLIES, value);
}
export function parseCall(value: unknown): ParsedMessage<AgentCall> {
  return parseByKind<AgentCall>(CALLS, value);
}
/** The answers to other calls are unknown here. */
export function parseAnswer<C extends AgentCall>(
  { kind }: Pick<C, 'kind'>,
  value: unknown,
): ParsedMessage<AnswerTo<C>> {
  return parseByKind(ANSWERS[kind], value) as ParsedMessage<AnswerTo<C>>;
}
export function parseNotice(value: unknown): ParsedMessage<Notice> {
  return parseByKind<Notice>(NOTICES, value);
}

function parseByKind<T>(
  schemas: Readonly<Record<string, Schema<T>>>,
  value: unknown,
): ParsedMessage<T> {
  const message = check(anyObject, value);
  if (!message.ok) return { ...message, unknownKind: null };
  const kind = message.value['kind'];
  if (typeof kind !== 'string')
    return { ok: false, reason: '/kind is not a string', unknownKind: null };
  const schema = Object.hasOwn(schemas, kind) ? schemas[kind] : undefined;
  if (schema === undefined) {
    const short = kind.slice(0, 64);
    return { ok: false, reason: `there is no kind ${JSON.stringify(short)}`, unknownKind: short };
  }
  const checked = check(schema, value);
  return checked.ok ? checked : { ...checked, unknownKind: null };
}
