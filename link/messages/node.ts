import type { DockerStatus, LocalImage } from '@portcullis/core/game-servers/host-engines.ts';
import {
  type ServerAssignment,
  type ServerMount,
  type ServerPort,
  type ServerResources,
  STARTS_WITH_HOST,
} from '@portcullis/core/game-servers/power.ts';
import { egg } from './egg.ts';
import { FILE_REPLIES, FILE_REQUESTS } from './files.ts';
import { SFTP_NOTICES, SFTP_REPLIES, SFTP_REQUESTS, sftpOfNode } from './sftp.ts';
import {
  array,
  boolean,
  finite,
  integer,
  kinds,
  matching,
  natural,
  nullable,
  object,
  oneOf,
  output,
  prose,
  record,
  type Static,
  type StaticUnion,
  text,
  union,
  withDefault,
} from './schema.ts';
import {
  address,
  agentName,
  answerTimeoutMs,
  cursor,
  instance,
  periodMs,
  port,
  protocolVersion,
  reason,
} from './values.ts';

/** The most deleted servers that a node is asked to purge at once. */
export const MAX_PURGED = 1_000;
/** The most servers of one node; a heartbeat names them all in one message. */
export const MAX_SERVERS_OF_NODE = 5_000;
/**
 * UTF-16 units of an install's output; longer output is cut. A node leaves logs out when a message would be too
 * large.
 */
export const MAX_BUILD_LOG_LENGTH = 16_384;
/** For one call. */
export const MAX_CONSOLE_LINES = 1_000;
export const MAX_CONSOLE_LINE_LENGTH = 4_096;

/** SHA-256 of an egg's canonical JSON, in hexadecimal. */
const DIGEST = /^[0-9a-f]{64}$/;
/** A setting of a launch, such as `/variables/MOTD`. */
const PART = /^\/[^\0]{1,200}$/;
/** The digests of the settings of a launch (`launchDigests`). */
export const launchedParts = record(PART, matching(/^[0-9a-f]{16}$/, 'a digest'));
export const uuid = matching(
  /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  'a uuid in lower case',
);
const serverState = oneOf('offline', 'starting', 'running', 'stopping', 'paused');
/** Incremented by every install; an integer column of the database. */
const epoch = integer(0, 2_147_483_647);
/** One line without control characters, so that a command cannot steer a terminal. */
const consoleCommand = matching(
  /^[^\p{Cc}\p{Cs}\u2028\u2029]{1,2048}$/u,
  'one line of at most 2048 characters',
);

const MAX_IMAGES = 100;
const imageName = matching(/^[a-z0-9][a-z0-9-]{0,62}$/, 'the name of an image');
const docker = object<DockerStatus>({
  version: nullable(prose(255)),
  lack: nullable(oneOf('absent', 'stopped', 'forbidden', 'silent')),
});
const localImage = object<LocalImage>({
  name: imageName,
  reference: text(255),
  state: oneOf('unknown', 'missing', 'building', 'ready', 'failed'),
  step: nullable(prose(255)),
  percent: nullable(integer(0, 100)),
  problem: nullable(reason),
});

const MAX_MOUNTS = 64;
/** An absolute path without empty, `.` or `..` segments. */
const path = matching(/^(?!.*\/\.{0,2}(?:\/|$))(?:\/[^\0/\n]+)+$/, 'an absolute path');

const engine = object({
  kind: oneOf('docker', 'process', 'fake'),
  /** Null when the engine does not answer; `problem` says why. */
  version: nullable(prose(255)),
  problem: nullable(reason),
  /** `HostEngines`; older agents do not say them, and then nothing is refused for what it needs of them. */
  host: withDefault(
    nullable(
      object({
        docker: nullable(docker),
        programs: array(text(255), MAX_IMAGES),
        images: array(localImage, MAX_IMAGES),
      }),
    ),
    null,
  ),
  /** Folders of its host that it offers to servers. Null: an older agent, which knows neither mounts nor a limit of 0. */
  mounts: withDefault(nullable(array(object({ path, readOnly: boolean }), MAX_MOUNTS)), null),
  /** Whether it serves links to files now. Older agents do not say it, and know no links. */
  fileLinks: withDefault(boolean, false),
});
export type NodeEngine = Static<typeof engine>;

const resources = object<ServerResources>({
  memoryBytes: natural,
  memoryLimitBytes: natural,
  cpuAbsolute: finite,
  diskBytes: natural,
  networkRxBytes: natural,
  networkTxBytes: natural,
  uptimeMs: natural,
});

const build = object({
  uuid,
  epoch,
  state: oneOf('waiting', 'building', 'built', 'failed'),
  /** Why it failed or waits, in words. */
  reason: nullable(reason),
  /** The last lines of the install's output; only for `failed`. */
  log: nullable(output(MAX_BUILD_LOG_LENGTH)),
  power: serverState,
  /** When its process last ended by itself while it should run, by the node's clock; null: not since it was started. */
  crashedAtMs: nullable(finite),
  /** Null while it does not run, or was not measured yet. */
  resources: nullable(resources),
});
export type ServerBuild = Static<typeof build>;

export const NODE_ANSWERS = kinds({
  state: {
    state: serverState,
    /** Null when they were not measured yet. */
    resources: nullable(resources),
    /** For the caller, such as why a start failed. */
    problem: nullable(reason),
    /** The digests of what its instance was launched with (`launchParts`); null: older nodes do not say it. */
    launched: withDefault(nullable(launchedParts), null),
  },
  accepted: {},
  /** The reason is a sentence for the caller. */
  refused: { reason },
  lines: {
    lines: array(output(MAX_CONSOLE_LINE_LENGTH), MAX_CONSOLE_LINES),
    /** Number of the last line, see `ServerConsole.lastNumber`; null: unknown. */
    lastNumber: nullable(natural),
  },
});
export type NodeAnswer = StaticUnion<typeof NODE_ANSWERS>;

/** Requests of a node. All are idempotent. Control ignores what a node reports about servers of other nodes. */
export const NODE_REQUESTS = {
  ...kinds({
    /** The first message on every connection. */
    'node.hello': { protocolVersion, instance },
    /** Requests all servers of this node, in pages. */
    'node.sync': {
      instance,
      cursor: nullable(cursor),
      /** The revision that the node has on disk; null for none. If it is current, the reply is one empty page. */
      revision: nullable(cursor),
    },
    /** Sent every `heartbeatMs`, and at once when a build changes. Names every server of the node. */
    'node.heartbeat': {
      instance,
      engine,
      builds: array(build, MAX_SERVERS_OF_NODE),
      /** Deleted servers of the last sync whose files are gone. */
      purged: withDefault(array(uuid, MAX_PURGED), []),
      /** Null: it serves no SFTP. Older agents do not report it. */
      sftp: withDefault(nullable(sftpOfNode), null),
    },
  }),
  ...SFTP_REQUESTS,
  ...FILE_REQUESTS,
};
export type NodeRequest = StaticUnion<typeof NODE_REQUESTS>;
export type NodeHello = Static<(typeof NODE_REQUESTS)['node.hello']>;
export type NodeSync = Static<(typeof NODE_REQUESTS)['node.sync']>;
export type NodeHeartbeat = Static<(typeof NODE_REQUESTS)['node.heartbeat']>;

/** At most 64 are declared, and people add as many. */
export const MAX_PORTS_OF_SERVER = 128;
const serverPort = object<ServerPort>({
  ip: address,
  port,
  protocols: array(oneOf('tcp', 'udp'), 2),
  variable: nullable(matching(/^\w{1,191}$/, 'the name of a variable')),
  name: nullable(matching(/^[a-z0-9][a-z0-9-]{0,62}$/, 'a short name')),
});

/** Older nodes refuse 0; control sends it only to nodes that report what they offer. */
const limit = integer(0, 2 ** 31 - 1);
const serverMount = object<ServerMount>({ source: path, target: path, readOnly: boolean });
/** Nodes also store it on disk. */
export const serverAssignment = object<ServerAssignment>({
  uuid,
  organisation: matching(/^[a-z0-9][a-z0-9-]{0,62}$/, 'a slug'),
  name: prose(255),
  egg: matching(DIGEST, 'a digest'),
  image: nullable(text(255)),
  variables: record(/^[^\0=]{1,128}$/, text(16_384)),
  limits: object({
    memory: limit,
    cpu: limit,
    disk: limit,
    /** Older controls do not send it, and an older node gives no swap. */
    swap: withDefault(integer(-1, 2 ** 31 - 1), 0),
    io: withDefault(integer(10, 1_000), 500),
    cores: withDefault(
      nullable(matching(/^\d{1,4}(?:[-,]\d{1,4}){0,60}$/, 'a list of cores')),
      null,
    ),
    oom: withDefault(boolean, true),
    entries: withDefault(limit, 0),
  }),
  dockerImage: withDefault(nullable(text(512)), null),
  startup: withDefault(nullable(text(16_384)), null),
  mounts: withDefault(array(serverMount, MAX_MOUNTS), []),
  allocation: object({ ip: address, port }),
  ports: array(serverPort, MAX_PORTS_OF_SERVER),
  suspended: boolean,
  crashes: object({
    restart: boolean,
    withinMs: integer(0, 86_400_000),
    /** Older controls send none of these, and older nodes leave them out. */
    tries: withDefault(integer(1, 100), 1),
  }),
  startWithHost: withDefault(oneOf(...STARTS_WITH_HOST), 'as_before'),
  stopAfterMs: withDefault(nullable(integer(0, 3_600_000)), null),
  buildEpoch: epoch,
  isRestored: withDefault(boolean, false),
  emptyFiles: withDefault(nullable(oneOf('bin', 'delete')), null),
});
/** Eggs by digest. Nodes also store them on disk. */
export const eggs = record(DIGEST, egg);

export const NODE_REPLIES = {
  ...kinds({
    'node.welcome': { protocolVersion, heartbeatMs: periodMs, resyncMs: periodMs },
    /** One page of a sync. A node acts on nothing before the last page. */
    'node.page': {
      revision: cursor,
      /** The revision in the request is current; the page is empty. */
      unchanged: boolean,
      servers: array(serverAssignment, MAX_SERVERS_OF_NODE),
      /** Eggs: those that servers of this page name and no earlier page carried. */
      eggs,
      /** Deleted servers whose files this node has to purge now; in each page. */
      purge: withDefault(array(uuid, MAX_PURGED), []),
      /** Null on the last page. */
      next: nullable(cursor),
    },
  }),
  ...SFTP_REPLIES,
  ...FILE_REPLIES,
};
export type NodeWelcome = Static<(typeof NODE_REPLIES)['node.welcome']>;
export type NodePage = Static<(typeof NODE_REPLIES)['node.page']>;

const INSTRUCTIONS = kinds({
  look: {},
  power: { signal: oneOf('start', 'stop', 'restart', 'kill') },
  command: { command: consoleCommand },
  lines: {
    last: integer(1, MAX_CONSOLE_LINES),
    /** With the escape sequences of colours, and no others. */
    colours: boolean,
  },
});

export const NODE_NOTICES = {
  ...kinds({
    /** Servers of these nodes changed. */
    'node.assignments': { nodes: array(agentName, 10_000) },
  }),
  ...SFTP_NOTICES,
};

/** Calls of control to a node. */
export const NODE_CALLS = kinds({
  'node.call': {
    /** A node that could only start after this time does not start. */
    withinMs: answerTimeoutMs,
    uuid,
    call: union<StaticUnion<typeof INSTRUCTIONS>>(INSTRUCTIONS),
  },
  /** Begins to make an image of a shipped egg; heartbeats report how far it is. */
  'node.image': { name: imageName },
});
export type NodeCall = Static<(typeof NODE_CALLS)['node.call']>;
export type NodeImageCall = Static<(typeof NODE_CALLS)['node.image']>;
