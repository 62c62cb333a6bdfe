import type { CrashPolicy, PowerSignal, PowerState, ServerState, StartWithHost } from './power.ts';
import type { StopTimes } from './egg.ts';

/** The power state of one server on its node. Plain data, stored on disk as it is. */
export interface MachineState {
  readonly phase: Phase;
  /** Increases with every phase: timers and results of an older one are ignored. */
  readonly epoch: number;
  /** Increases with every launch: events of an earlier instance are ignored. */
  readonly run: number;
  /** Whether the engine answers. Otherwise the instance's state is unknown. */
  readonly reachable: boolean;
  /** Why it must not run (suspended, installing), as a sentence. Null: it may run. */
  readonly withheld: string | null;
  /** The remaining retries of an automatic launch (after a crash or an agent restart). */
  readonly triesLeft: number;
  /** The last crash that caused a restart, in milliseconds since the epoch. */
  readonly crashAtMs: number | null;
  /** The crashes up to that one, each within the time of the crash policy after the one before. */
  readonly crashCount: number;
  /** When automatic restarts were given up after crashes or failed starts. */
  readonly gaveUpAtMs: number | null;
  /** The engine was away since the instance was last seen running: its end is no crash. */
  readonly engineLeft: boolean;
  /** The host was started since the instance was last seen: its end is no crash, and it may have to be started. */
  readonly hostRestarted: boolean;
  /**
   * The instance whose console is attached, by its start time; `launched` until that is known; null if none. Detects a
   * restart by another program and a console to attach again.
   */
  readonly attached: number | 'launched' | null;
  /** Another program paused the instance. */
  readonly paused: boolean;
  /** A sentence for operators, such as why it is offline. */
  readonly problem: string | null;
}

export type Phase =
  /** The instance's state is not known yet: the agent has just started, or the engine went away during a launch. */
  { readonly kind: 'recovering'; readonly was: KnownPhase } | KnownPhase;
export type KnownPhase =
  | { readonly kind: 'offline' }
  /**
   * A launch is running: image, files, instance, console, start. `done`: the done line came before the launch ended.
   */
  | { readonly kind: 'launching'; readonly done: boolean }
  /** A launch is cancelled; nothing else starts before it has ended. */
  | { readonly kind: 'cancelling'; readonly how: 'stop' | 'kill'; readonly after: After }
  | { readonly kind: 'starting' }
  | { readonly kind: 'running' }
  /** `acknowledged`: the engine has accepted this step; its time runs from then. */
  | {
      readonly kind: 'stopping';
      readonly rung: Rung;
      readonly acknowledged: boolean;
      readonly after: After;
    };
export type After = 'offline' | 'start';
/** The steps of a stop: the stop of the egg, then SIGTERM, then SIGKILL. */
export type Rung = 'egg' | 'term' | 'kill';

export type MachineEvent =
  | { readonly kind: 'signal'; readonly signal: PowerSignal }
  | { readonly kind: 'withhold'; readonly reason: string | null }
  /** The engine does not answer. */
  | { readonly kind: 'lost' }
  /** The engine answers again; events may have been missed. */
  | { readonly kind: 'gap' }
  /** An event of the instance (started, exited, paused, removed): a reason to inspect, never the truth. */
  | { readonly kind: 'changed' }
  /** The console ended; the instance may still run. */
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
  /** A console line matched the egg's done line. */
  | { readonly kind: 'done'; readonly run: number }
  | { readonly kind: 'stop_sent'; readonly epoch: number }
  | { readonly kind: 'stop_failed'; readonly epoch: number; readonly reachable: boolean }
  | { readonly kind: 'phase_timer'; readonly epoch: number }
  | { readonly kind: 'look_timer'; readonly run: number };

export interface InstanceFacts {
  readonly status: 'created' | 'running' | 'paused' | 'exited';
  readonly exitCode: number | null;
  readonly oomKilled: boolean;
  readonly startedAtMs: number | null;
}

/**
 * The actions for the engine adapter. Every launch, stop and inspection is answered by exactly one event within a bounded
 * time.
 */
export type Effect =
  | { readonly kind: 'launch'; readonly run: number }
  | { readonly kind: 'cancel_launch'; readonly run: number }
  | { readonly kind: 'send_stop'; readonly rung: Rung; readonly epoch: number }
  | { readonly kind: 'inspect'; readonly run: number }
  /** Attaches the console of an instance that this agent did not start. */
  | { readonly kind: 'attach'; readonly run: number }
  /** Replaces the timer of this name. */
  | { readonly kind: 'phase_timer'; readonly epoch: number; readonly afterMs: number }
  | { readonly kind: 'look_timer'; readonly run: number; readonly afterMs: number };

/** How the server is started and stopped, by the egg of its launch. */
export interface PowerSettings {
  /** The egg has done lines. */
  readonly hasDone: boolean;
  /** The start: without a done line it counts as running after this time, with a warning. */
  readonly slowStartMs: number;
  readonly stopTimes: StopTimes;
  readonly crashes: CrashPolicy;
  readonly startWithHost: StartWithHost;
}

export interface Context {
  readonly atMs: number;
  readonly settings: PowerSettings;
}

export interface Step {
  readonly state: MachineState;
  readonly effects: readonly Effect[];
  /** The answer to a signal; null for other events. */
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
  crashCount: 0,
  gaveUpAtMs: null,
  engineLeft: false,
  hostRestarted: false,
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
} as const satisfies Readonly<Record<KnownPhase['kind'], PowerState>>;

/** The state for callers: the last known one if `isKnown` is false. A paused instance answers no player. */
export function serverState(state: MachineState): ServerState {
  return state.paused && isUp(state) ? 'paused' : powerState(state);
}

/** The same without pauses. */
export function powerState({ phase }: MachineState): PowerState {
  return STATES[phase.kind === 'recovering' ? phase.was.kind : phase.kind];
}

/** Whether `serverState` is the present state. */
export function isKnown({ phase, reachable }: MachineState): boolean {
  return reachable && phase.kind !== 'recovering';
}

/** An instance was started and has not ended yet. */
export function isUp({ phase }: MachineState): boolean {
  return phase.kind === 'starting' || phase.kind === 'running' || phase.kind === 'stopping';
}

/** Nothing runs and no action is pending. */
export function isAtRest({ phase }: MachineState): boolean {
  return phase.kind === 'offline';
}

/** The last crash that the machine still knows; it forgets them when a person starts the server. */
export function lastCrashMs({ crashAtMs, gaveUpAtMs }: MachineState): number | null {
  const known = [crashAtMs, gaveUpAtMs].filter((at) => at !== null);
  return known.length === 0 ? null : Math.max(...known);
}
