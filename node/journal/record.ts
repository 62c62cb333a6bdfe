import type { Egg, StopInstruction, StopTimes } from '@portcullis/core/game-servers/egg.ts';
import {
  type KnownPhase,
  type MachineState,
  NEW_MACHINE,
  type Phase,
} from '@portcullis/core/game-servers/machine-state.ts';
import type { ServerAssignment } from '@portcullis/core/game-servers/power.ts';
import { donePattern, egg, stopInstruction, stopTimes } from '@portcullis/link/parse-egg.ts';
import { MAX_SERVERS_OF_NODE, serverAssignment } from '@portcullis/link/parse-node.ts';
import {
  amount,
  byKind,
  flag,
  integer,
  list,
  nullable,
  object,
  oneOf,
  optional,
  prose,
  record,
  type Shape,
  text,
  whole,
} from '@portcullis/link/shape.ts';

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
  servers: list(serverAssignment, MAX_SERVERS_OF_NODE),
  eggs: record(/^[0-9a-f]{64}$/, egg),
});

const after = oneOf('offline', 'start');
const KNOWN_PHASES = {
  offline: object({ kind: oneOf('offline') }),
  launching: object({ kind: oneOf('launching'), done: flag }),
  cancelling: object({ kind: oneOf('cancelling'), how: oneOf('stop', 'kill'), after }),
  starting: object({ kind: oneOf('starting') }),
  running: object({ kind: oneOf('running') }),
  stopping: object({
    kind: oneOf('stopping'),
    rung: oneOf('egg', 'term', 'kill'),
    told: flag,
    after,
  }),
} as const;
const knownPhase = byKind<KnownPhase>(KNOWN_PHASES);
const phase = byKind<Phase>({
  ...KNOWN_PHASES,
  recovering: object({ kind: oneOf('recovering'), was: knownPhase }),
});

const attached: Shape<MachineState['attached']> = (value, at) =>
  value === 'launched' ? value : nullable(amount)(value, at);

const machine = object<MachineState>({
  phase,
  epoch: whole,
  run: whole,
  reachable: flag,
  withheld: nullable(prose(2_000)),
  triesLeft: whole,
  crashAtMs: nullable(amount),
  gaveUpAtMs: optional(nullable(amount), null),
  engineLeft: optional(flag, false),
  attached,
  paused: flag,
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
    object<LaunchedWith>({ done: list(donePattern, 1_000), stop: stopInstruction, stopTimes }),
  ),
});
