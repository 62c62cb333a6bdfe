import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import {
  type KnownPhase,
  type MachineState,
  NEW_MACHINE,
  type Phase,
} from '@portcullis/core/game-servers/machine-state.ts';
import { donePattern, stopInstruction, stopTimes } from '@portcullis/link/messages/egg.ts';
import {
  eggs,
  launchedParts,
  MAX_BUILD_LOG_LENGTH,
  MAX_PURGED,
  MAX_SERVERS_OF_NODE,
  serverAssignment,
  uuid,
} from '@portcullis/link/messages/node.ts';
import {
  array,
  boolean,
  finite,
  integer,
  kinds,
  natural,
  nullable,
  object,
  oneOf,
  prose,
  type Schema,
  type Static,
  text,
  union,
  withDefault,
} from '@portcullis/link/messages/schema.ts';

/** The assignments of this node as of the last complete sync. */
export const assignments = object({
  revision: text(1_024),
  servers: array(serverAssignment, MAX_SERVERS_OF_NODE),
  /** Every egg used by a server. */
  eggs,
  /** Deleted servers whose files are to be purged. */
  purge: withDefault(array(uuid, MAX_PURGED), []),
});
export type Assignments = Static<typeof assignments>;

const after = oneOf('offline', 'start');
const KNOWN_PHASES = kinds({
  offline: {},
  launching: { done: boolean },
  cancelling: { how: oneOf('stop', 'kill'), after },
  starting: {},
  running: {},
  stopping: { rung: oneOf('egg', 'term', 'kill'), acknowledged: boolean, after },
});
const knownPhase = union<KnownPhase>(KNOWN_PHASES);
const phase = union<Phase>({
  ...KNOWN_PHASES,
  ...kinds({ recovering: { was: knownPhase } }),
});

const attached: Schema<MachineState['attached']> = (value, at) =>
  value === 'launched' ? value : nullable(finite)(value, at);

const machine = object<MachineState>({
  phase,
  epoch: natural,
  run: natural,
  reachable: boolean,
  withheld: nullable(prose(2_000)),
  triesLeft: natural,
  crashAtMs: nullable(finite),
  /** Earlier versions counted one crash before they gave up. */
  crashCount: withDefault(natural, 1),
  gaveUpAtMs: nullable(finite),
  engineLeft: boolean,
  hostRestarted: withDefault(boolean, false),
  attached,
  paused: boolean,
  problem: nullable(prose(2_000)),
});

const build = object({
  epoch: integer(0, 2_147_483_647),
  /** `building` in a file read after a restart means an interrupted build; the agent builds again. */
  state: oneOf('none', 'building', 'built', 'failed'),
  reason: nullable(prose(2_000)),
  log: nullable(prose(MAX_BUILD_LOG_LENGTH)),
});
export type BuildRecord = Static<typeof build>;

const launchedWith = object({
  done: array(donePattern, 1_000),
  stop: stopInstruction,
  stopTimes,
  /** The organisation in whose network the instance is; null: an older agent launched it. */
  organisation: withDefault(nullable(text(63)), null),
  /** Digests of the settings of the launch (`launchParts`); empty: an earlier version launched it. */
  parts: withDefault(launchedParts, {}),
});
export type LaunchedWith = Static<typeof launchedWith>;

/** The stored state of one server. */
export const serverRecord = object({
  machine,
  build,
  /** The parts of the egg with which the instance was launched; a newer egg does not apply to it. Null if it never was. */
  launched: nullable(launchedWith),
  /** The boot of the host in which this was written; '': an earlier version wrote it. */
  bootId: withDefault(text(64), ''),
});
export type ServerRecord = Static<typeof serverRecord>;

/** The account of one server's folder. */
export const accountRecord = object({
  /** Also its gid. */
  uid: integer(1, 4_294_967_294),
  /** False while something in the folder may not belong to it yet: before it was moved over, and during an install. */
  settled: boolean,
});
export type AccountRecord = Static<typeof accountRecord>;

export const NEW_RECORD: ServerRecord = {
  machine: NEW_MACHINE,
  build: { epoch: 0, state: 'none', reason: null, log: null },
  launched: null,
  bootId: '',
};

export function launchOf(egg: Egg, organisation?: string): LaunchedWith;
export function launchOf(egg: Egg | null, organisation?: string): LaunchedWith | null;
export function launchOf(egg: Egg | null, organisation?: string): LaunchedWith | null {
  if (egg === null) return null;
  const { done, stop, stopTimes } = egg;
  return { done, stop, stopTimes, organisation: organisation ?? null, parts: {} };
}
