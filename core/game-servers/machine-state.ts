import type { CrashPolicy, PowerSignal, ServerState } from './power.ts';
import type { StopTimes } from './egg.ts';

/** What a node knows of one server's power. Plain data: it is kept on disk as it is. */
export interface MachineState {
  readonly phase: Phase;
  /** Raised with every change of phase: a timer or an answer of an older one is ignored. */
  readonly epoch: number;
  /** Raised with every launch: what is said of an instance before it is ignored. */
  readonly run: number;
  /** The engine answers. While it does not, nothing is known of the instance. */
  readonly reachable: boolean;
  /** Why it must not run (suspended, being built), a sentence; null: it may. */
  readonly withheld: string | null;
  /** How often a launch that nobody asked for (after a crash, or its agent's end) is still tried again if it fails. */
  readonly triesLeft: number;
  /** The last crash that was answered with a restart; milliseconds since the epoch. */
  readonly crashAtMs: number | null;
  /** When it was left to itself though it was to run: its crashes, or starts that failed; as above. */
  readonly gaveUpAtMs: number | null;
  /** The engine was away since the instance was last seen alive: whatever ended it was no crash. */
  readonly engineLeft: boolean;
  /**
   * The instance whose console is connected, by when it was started; `launched` until that is known, null: none.
   * Tells one that somebody else restarted, and what must be connected anew after a gap.
   */
  readonly attached: number | 'launched' | null;
  /** Somebody else paused the instance: it lives, and does nothing. */
  readonly paused: boolean;
  /** What people should know, such as why it is offline. */
  readonly problem: string | null;
}

export type Phase =
  /** What runs is not seen yet: the agent has just begun, or the engine went away while it launched. */
  { readonly kind: 'recovering'; readonly was: KnownPhase } | KnownPhase;
export type KnownPhase =
  | { readonly kind: 'offline' }
  /** A launch is under way: image, files, instance, console, start. `done`: its line came before the launch ended. */
  | { readonly kind: 'launching'; readonly done: boolean }
  /** A launch is being given up; nothing else begins before it has ended. */
  | { readonly kind: 'cancelling'; readonly how: 'stop' | 'kill'; readonly after: After }
  | { readonly kind: 'starting' }
  | { readonly kind: 'running' }
  /** `told`: the engine has taken what this rung says; its time runs from then. */
  | {
      readonly kind: 'stopping';
      readonly rung: Rung;
      readonly told: boolean;
      readonly after: After;
    };
export type After = 'offline' | 'start';
/** How a stop is said: as the egg wants it, then SIGTERM, then SIGKILL. */
export type Rung = 'egg' | 'term' | 'kill';

export type MachineEvent =
  | { readonly kind: 'signal'; readonly signal: PowerSignal }
  | { readonly kind: 'withhold'; readonly reason: string | null }
  /** The engine does not answer. */
  | { readonly kind: 'lost' }
  /** It answers, and events may have been missed. */
  | { readonly kind: 'gap' }
  /** It said something of the instance (started, exited, paused, removed): a reason to look, never the truth. */
  | { readonly kind: 'changed' }
  /** Its console ended. Whether the instance did, this does not say. */
  | { readonly kind: 'detached' }
  | {
      readonly kind: 'inspected';
      readonly run: number;
      readonly instance: InstanceFacts | null;
    }
  | { readonly kind: 'inspect_failed'; readonly run: number }
  | { readonly kind: 'launched'; readonly run: number }
  | {
      readonly kind: 'launch_failed';
      readonly run: number;
      readonly reason: string;
      readonly reachable: boolean;
    }
  /** A line of the console said that the game is up. */
  | { readonly kind: 'done'; readonly run: number }
  | { readonly kind: 'told'; readonly epoch: number }
  | { readonly kind: 'untold'; readonly epoch: number; readonly reachable: boolean }
  | { readonly kind: 'phase_timer'; readonly epoch: number }
  | { readonly kind: 'look_timer'; readonly run: number };

export interface InstanceFacts {
  readonly status: 'created' | 'running' | 'paused' | 'exited';
  readonly exitCode: number | null;
  readonly oomKilled: boolean;
  readonly startedAtMs: number | null;
}

/** What the rim does. Every launch, tell and inspect is answered by exactly one event, within a bounded time. */
export type Effect =
  | { readonly kind: 'launch'; readonly run: number }
  | { readonly kind: 'cancel_launch'; readonly run: number }
  | { readonly kind: 'tell'; readonly rung: Rung; readonly epoch: number }
  | { readonly kind: 'inspect'; readonly run: number }
  /** Connects the console of an instance that this agent did not start. */
  | { readonly kind: 'attach'; readonly run: number }
  /** Replaces the timer of this name. */
  | { readonly kind: 'phase_timer'; readonly epoch: number; readonly afterMs: number }
  | { readonly kind: 'look_timer'; readonly run: number; readonly afterMs: number };

/** How this server is started and stopped, as of the egg that its instance was launched with. */
export interface PowerSettings {
  /** The egg names lines that say that the game is up. */
  readonly hasDone: boolean;
  /** Without such a line it counts as running after so long, with a warning. */
  readonly slowStartMs: number;
  readonly stopTimes: StopTimes;
  readonly crashes: CrashPolicy;
}

export interface Context {
  readonly atMs: number;
  readonly settings: PowerSettings;
}

export interface Step {
  readonly state: MachineState;
  readonly effects: readonly Effect[];
  /** To a signal; null for every other event. */
  readonly answer: Answer | null;
}
export type Answer =
  | { readonly accepted: true }
  /** `reason` is a sentence for the caller. */
  | { readonly accepted: false; readonly reason: string };

export const NEW_MACHINE: MachineState = {
  phase: { kind: 'offline' },
  epoch: 0,
  run: 0,
  reachable: true,
  withheld: null,
  triesLeft: 0,
  crashAtMs: null,
  gaveUpAtMs: null,
  engineLeft: false,
  attached: null,
  paused: false,
  problem: null,
};

const STATES = {
  offline: 'offline',
  launching: 'starting',
  cancelling: 'stopping',
  starting: 'starting',
  running: 'running',
  stopping: 'stopping',
} as const satisfies Readonly<Record<KnownPhase['kind'], ServerState>>;

/** As people see it; as it was last known where it is not known now (`isKnown`). */
export function serverState({ phase }: MachineState): ServerState {
  return STATES[phase.kind === 'recovering' ? phase.was.kind : phase.kind];
}

/** Whether `serverState` is what is, rather than what was. */
export function isKnown({ phase, reachable }: MachineState): boolean {
  return reachable && phase.kind !== 'recovering';
}

/** An instance was started, and its end was not seen yet. */
export function isUp({ phase }: MachineState): boolean {
  return phase.kind === 'starting' || phase.kind === 'running' || phase.kind === 'stopping';
}

/** Nothing runs and nothing is under way. */
export function isAtRest({ phase }: MachineState): boolean {
  return phase.kind === 'offline';
}
