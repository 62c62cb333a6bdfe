import type { Egg, StopInstruction, StopTimes } from '@portcullis/core/game-servers/egg.ts';
import {
  type KnownPhase,
  type MachineState,
  NEW_MACHINE,
  type Phase,
} from '@portcullis/core/game-servers/machine-state.ts';
import type { ServerAssignment } from '@portcullis/core/game-servers/power.ts';
import { donePattern, stopInstruction, stopTimes } from '@portcullis/link/messages/egg.ts';
import { eggs, MAX_SERVERS_OF_NODE, serverAssignment } from '@portcullis/link/messages/node.ts';
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
  text,
  union,
  withDefault,
} from '@portcullis/link/messages/schema.ts';

/** What control wants of this node, as of the last sync that was whole. */
export interface Assignments {
  readonly revision: string;
  readonly servers: readonly ServerAssignment[];
  /** By digest; every one that a server names. */
  readonly eggs: Readonly<Record<string, Egg>>;
}

/** What happened to one server here, and must not be forgotten. */
export interface ServerRecord {
  readonly machine: MachineState;
  readonly build: BuildRecord;
  /** How its instance was launched, as of then: a newer egg stops it no better. null: it never was. */
  readonly launched: LaunchedWith | null;
}

/** `building` on the disk of an agent that has just begun was cut off: it is done anew. */
export interface BuildRecord {
  readonly epoch: number;
  readonly state: 'none' | 'building' | 'built' | 'failed';
  readonly reason: string | null;
  readonly log: string | null;
}

export interface LaunchedWith {
  readonly done: Egg['done'];
  readonly stop: StopInstruction;
  readonly stopTimes: StopTimes;
}

export const NEW_RECORD: ServerRecord = {
  machine: NEW_MACHINE,
  build: { epoch: 0, state: 'none', reason: null, log: null },
  launched: null,
};

export const assignments = object<Assignments>({
  revision: text(1_024),
  servers: array(serverAssignment, MAX_SERVERS_OF_NODE),
  eggs,
});

const after = oneOf('offline', 'start');
const KNOWN_PHASES = kinds({
  offline: {},
  launching: { done: boolean },
  cancelling: { how: oneOf('stop', 'kill'), after },
  starting: {},
  running: {},
  stopping: { rung: oneOf('egg', 'term', 'kill'), told: boolean, after },
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
  gaveUpAtMs: withDefault(nullable(finite), null),
  engineLeft: withDefault(boolean, false),
  attached,
  paused: boolean,
  problem: nullable(prose(2_000)),
});

export const serverRecord = object<ServerRecord>({
  machine,
  build: object<BuildRecord>({
    epoch: integer(0, 2_147_483_647),
    state: oneOf('none', 'building', 'built', 'failed'),
    reason: nullable(prose(2_000)),
    log: nullable(prose(16_384)),
  }),
  launched: nullable(
    object<LaunchedWith>({ done: array(donePattern, 1_000), stop: stopInstruction, stopTimes }),
  ),
});
