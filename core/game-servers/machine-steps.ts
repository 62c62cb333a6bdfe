import type { After, Effect, KnownPhase, MachineState, Rung, Step } from './machine-state.ts';

/** A failed inspection or launch. */
export const LOOK_AGAIN_MS = 5_000;
/** A failed automatic launch: no caller would retry it. */
export const TRIES = 2;

export function to(state: MachineState, ...effects: readonly Effect[]): Step {
  return { state, effects, answer: null };
}

export function becomes(state: MachineState, phase: MachineState['phase']): MachineState {
  return { ...state, phase, epoch: state.epoch + 1 };
}

export function launch(state: MachineState): Step {
  const begun = becomes(state, { kind: 'launching', done: false });
  const next = { ...begun, run: state.run + 1, attached: null, paused: false, problem: null };
  return to({ ...next, engineLeft: false, gaveUpAtMs: null }, { kind: 'launch', run: next.run });
}

/** Launches again when an inspection has shown that it does not run, at the latest after a while. */
export function tryLater(state: MachineState, was: KnownPhase): Step {
  const next = becomes(state, { kind: 'recovering', was });
  return to(next, { kind: 'look_timer', run: next.run, afterMs: LOOK_AGAIN_MS });
}

export function beginStop(state: MachineState, rung: Rung, after: After = 'offline'): Step {
  const next = becomes(state, { kind: 'stopping', rung, acknowledged: false, after });
  return to(next, { kind: 'send_stop', rung, epoch: next.epoch });
}

export function inspect({ run }: MachineState): Effect {
  return { kind: 'inspect', run };
}

export function phaseTimer({ epoch }: MachineState, afterMs: number): Effect {
  return { kind: 'phase_timer', epoch, afterMs };
}
