import type { ServerAssignment, ServerResources } from '@portcullis/core/game-servers/power.ts';
import type {
  CallAnswer,
  NewAssignments,
  NodeCall,
  NodeEngine,
  NodePage,
  NodeRequest,
  NodeWelcome,
  ServerBuild,
} from './node-messages.ts';
import { digest, egg } from './parse-egg.ts';
import { address } from './parse-report.ts';
import { AGENT_NAME, cursor, instance, questionId } from './session-shapes.ts';
import {
  amount,
  byKind,
  flag,
  integer,
  list,
  matching,
  nullable,
  object,
  oneOf,
  optional,
  prose,
  record,
  type Shape,
  text,
  whole,
} from './shape.ts';

/** Of one node; a heartbeat names them all in one message. */
export const MAX_SERVERS_OF_NODE = 5_000;
/** Of an install's output, in UTF-16 units: what is beyond is cut. A sender leaves logs out before a message is too large. */
export const MAX_BUILD_LOG_LENGTH = 16_384;
/** What one call may ask of a console. */
export const MAX_CONSOLE_LINES = 1_000;
export const MAX_CONSOLE_LINE_LENGTH = 4_096;

const reason = prose(2_000);
const uuid = matching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'a uuid in lower case');
const serverState = oneOf('offline', 'starting', 'running', 'stopping');
/** Raised by one with every install; a column of the database. */
const epoch = integer(0, 2_147_483_647);
/** One line without control characters: what is written to a console may do nothing but say something. */
const consoleCommand = matching(
  /^[^\p{Cc}\p{Cs}\u2028\u2029]{1,2048}$/u,
  'one line of at most 2048 characters',
);

const engine = object<NodeEngine>({
  kind: oneOf('docker', 'process', 'fake'),
  version: nullable(prose(255)),
  problem: nullable(reason),
});

const build = object<ServerBuild>({
  uuid,
  epoch,
  state: oneOf('waiting', 'building', 'built', 'failed'),
  reason: nullable(reason),
  log: nullable(prose(MAX_BUILD_LOG_LENGTH)),
  power: serverState,
});

const resources = object<ServerResources>({
  memoryBytes: whole,
  memoryLimitBytes: whole,
  cpuAbsolute: amount,
  diskBytes: whole,
  networkRxBytes: whole,
  networkTxBytes: whole,
  uptimeMs: whole,
});

const answer = byKind<CallAnswer>({
  state: object({
    kind: oneOf('state'),
    state: serverState,
    resources: nullable(resources),
    problem: optional(nullable(reason), null),
  }),
  accepted: object({ kind: oneOf('accepted') }),
  refused: object({ kind: oneOf('refused'), reason }),
  lines: object({
    kind: oneOf('lines'),
    lines: list(prose(MAX_CONSOLE_LINE_LENGTH), MAX_CONSOLE_LINES),
    lastNumber: optional(nullable(whole), null),
  }),
});

export const NODE_REQUESTS: {
  readonly [K in NodeRequest['kind']]: Shape<Extract<NodeRequest, { kind: K }>>;
} = {
  'node.hello': object({
    kind: oneOf('node.hello'),
    protocolVersion: integer(0, 1_000_000),
    instance,
  }),
  'node.sync': object({
    kind: oneOf('node.sync'),
    instance,
    cursor: nullable(cursor),
    revision: nullable(cursor),
  }),
  'node.heartbeat': object({
    kind: oneOf('node.heartbeat'),
    instance,
    engine,
    builds: list(build, MAX_SERVERS_OF_NODE),
  }),
  'node.answer': object({ kind: oneOf('node.answer'), instance, id: questionId, answer }),
};

/** Also of what a node keeps on its disk. */
export const serverAssignment = object<ServerAssignment>({
  uuid,
  organisation: matching(/^[a-z0-9][a-z0-9-]{0,62}$/, 'a slug'),
  name: prose(255),
  egg: digest,
  image: nullable(text(255)),
  variables: record(/^[^\0=]{1,128}$/, text(16_384)),
  limits: object({
    memory: integer(1, 2 ** 31 - 1),
    cpu: integer(1, 2 ** 31 - 1),
    disk: integer(1, 2 ** 31 - 1),
  }),
  allocation: object({ ip: address, port: integer(1, 65_535) }),
  suspended: flag,
  crashes: object({ restart: flag, withinMs: integer(0, 86_400_000) }),
  buildEpoch: epoch,
});

export const NODE_REPLIES: {
  readonly 'node.welcome': Shape<NodeWelcome>;
  readonly 'node.page': Shape<NodePage>;
} = {
  'node.welcome': object({
    kind: oneOf('node.welcome'),
    protocolVersion: integer(0, 1_000_000),
    // Kept apart from zero: an agent must not spin, whatever it is told.
    heartbeatMs: integer(10, 86_400_000),
    resyncMs: integer(10, 86_400_000),
  }),
  'node.page': object({
    kind: oneOf('node.page'),
    revision: cursor,
    unchanged: flag,
    servers: list(serverAssignment, MAX_SERVERS_OF_NODE),
    eggs: record(/^[0-9a-f]{64}$/, egg),
    next: nullable(cursor),
  }),
};

const agentName = matching(AGENT_NAME, 'the name of a node');

export const NODE_NOTICES: {
  readonly 'node.assignments': Shape<NewAssignments>;
  readonly 'node.call': Shape<NodeCall>;
} = {
  'node.assignments': object({ kind: oneOf('node.assignments'), nodes: list(agentName, 10_000) }),
  'node.call': object({
    kind: oneOf('node.call'),
    id: questionId,
    node: agentName,
    withinMs: integer(1, 60_000),
    uuid,
    call: byKind<NodeCall['call']>({
      look: object({ kind: oneOf('look') }),
      power: object({
        kind: oneOf('power'),
        signal: oneOf('start', 'stop', 'restart', 'kill'),
      }),
      command: object({ kind: oneOf('command'), command: consoleCommand }),
      lines: object({ kind: oneOf('lines'), last: integer(1, MAX_CONSOLE_LINES) }),
    }),
  }),
};
