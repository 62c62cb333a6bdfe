import type {
  Answer,
  Context,
  InstanceFacts,
  KnownPhase,
  MachineEvent,
  MachineState,
  Step,
  After,
} from './machine-state.ts';
import { isUp, powerState } from './machine-state.ts';
import { onDead, onLost } from './machine-ends.ts';
import {
  becomes,
  beginStop,
  inspect,
  launch,
  LOOK_AGAIN_MS,
  phaseTimer,
  to,
  TRIES,
  tryLater,
} from './machine-steps.ts';
import { begins, type PowerSignal } from './power.ts';
import { POWER_TABLE, type PowerAction } from './power-table.ts';

/** The pauses after a SIGKILL that had no effect, and after one that could not be sent. */
const KILL_AGAIN_MS = 5_000;
/** The pause before an unreachable engine is asked again. */
const SEND_AGAIN_MS = 2_000;

type Handlers = {
  readonly [K in MachineEvent['kind']]: (
    state: MachineState,
    event: Extract<MachineEvent, { kind: K }>,
    context: Context,
  ) => Step;
};

/** All decisions of a node about the power of a server. Pure. */
export function step(state: MachineState, event: MachineEvent, context: Context): Step {
  const handler = HANDLERS[event.kind] as (
    state: MachineState,
    event: MachineEvent,
    context: Context,
  ) => Step;
  return handler(state, event, context);
}

/**
 * The start state of an agent with this state on disk: it inspects first. `isNewBoot`: the host was started since that
 * was written.
 */
export function recover(state: MachineState, isNewBoot = false): Step {
  const { phase } = state;
  const was = phase.kind === 'recovering' ? phase.was : phase;
  // Consoles, requests and timers ended with the previous agent.
  const begun = { ...state, attached: null, epoch: state.epoch + 1 };
  const hostRestarted = state.hostRestarted || isNewBoot;
  const next = { ...begun, reachable: true, triesLeft: TRIES, hostRestarted };
  return to({ ...next, phase: { kind: 'recovering', was } }, inspect(state));
}

/**
 * The state of a server that stops together with its node: the next agent starts it again. That never counts as a
 * crash.
 */
export function endWithNode(state: MachineState): MachineState {
  const { phase } = state;
  const was = phase.kind === 'recovering' ? phase.was : phase;
  const runs = was.kind === 'starting' || was.kind === 'running';
  if (!runs || state.withheld !== null) return state;
  return becomes(state, { kind: 'stopping', rung: 'term', acknowledged: true, after: 'start' });
}

const HANDLERS: Handlers = {
  signal: (state, { signal }) => onSignal(state, signal),
  withhold: (state, { reason }) => {
    const next = { ...state, withheld: reason };
    return reason === null || reason === state.withheld ? to(next) : giveWay(next);
  },
  lost: (state, _event, context) => onLost(state, context),
  gap: (state) => look({ ...state, reachable: true, attached: null }),
  changed: (state) => look(state),
  detached: (state) => {
    const next = { ...state, attached: null };
    // Delayed, in case it ends repeatedly. Usually the instance ended, and the engine's event has arrived by then.
    return isUp(state)
      ? to(next, { kind: 'look_timer', run: state.run, afterMs: LOOK_AGAIN_MS })
      : to(next);
  },
  // Nothing is requested while the engine is away; `gap` follows when it is back.
  look_timer: (state, { run }) => (run === state.run && state.reachable ? look(state) : to(state)),
  inspect_failed: (state, { run }) =>
    run === state.run && state.reachable && isLooking(state)
      ? to(state, { kind: 'look_timer', run, afterMs: LOOK_AGAIN_MS })
      : to(state),
  inspected: (state, { run, instance }, context) => {
    if (run !== state.run || !isLooking(state)) return to(state);
    const alive = instance?.status === 'running' || instance?.status === 'paused';
    return alive ? onAlive(state, instance, context) : onDead(state, instance, context);
  },
  launched: (state, { run }, context) => onLaunched(state, run, context),
  launch_failed: (state, { run, reason, reachable }, { atMs }) => {
    if (run !== state.run) return to(state);
    const { phase } = state;
    // It may have started all the same, so it is removed.
    if (phase.kind === 'cancelling') return beginStop(state, 'kill', phase.after);
    if (phase.kind !== 'launching') return to(state);
    const failed = { ...state, problem: `It could not be started: ${reason}` };
    // A restarting Docker stops its containers first; the wanted state is kept until it is back.
    if (!reachable) return tryLater(failed, phase);
    if (state.triesLeft === 0) return beginStop({ ...failed, gaveUpAtMs: atMs }, 'kill');
    return tryLater({ ...failed, triesLeft: state.triesLeft - 1 }, phase);
  },
  done: (state, { run }) => {
    if (run !== state.run) return to(state);
    if (state.phase.kind === 'launching') return to({ ...state, phase: LAUNCHED_DONE });
    return state.phase.kind === 'starting' ? to(becomes(state, { kind: 'running' })) : to(state);
  },
  stop_sent: (state, { epoch }, { settings }) => {
    const { phase } = state;
    if (epoch !== state.epoch || phase.kind !== 'stopping') return to(state);
    const next = { ...state, phase: { ...phase, acknowledged: true } };
    const { termAfterMs, killAfterMs } = settings.stopTimes;
    if (phase.rung === 'egg') return to(next, phaseTimer(next, termAfterMs));
    if (phase.rung === 'term') return to(next, phaseTimer(next, killAfterMs));
    return to(next, phaseTimer(next, KILL_AGAIN_MS), inspect(next));
  },
  stop_failed: (state, { epoch, reachable }) => {
    const { phase } = state;
    if (epoch !== state.epoch || phase.kind !== 'stopping') return to(state);
    if (phase.rung === 'kill') return to(state, phaseTimer(state, KILL_AGAIN_MS), inspect(state));
    // The time to save does not run while the engine is away.
    if (!reachable) return to(state, phaseTimer(state, SEND_AGAIN_MS));
    return beginStop(state, phase.rung === 'egg' ? 'term' : 'kill', phase.after);
  },
  phase_timer: (state, { epoch }, { settings }) => {
    if (epoch !== state.epoch) return to(state);
    if (state.phase.kind === 'stopping') return escalate(state, state.phase);
    if (state.phase.kind !== 'starting') return to(state);
    const minutes = Math.round(settings.slowStartMs / 60_000);
    const problem = `The console showed no done line within ${minutes} min; it counts as running.`;
    return to({ ...becomes(state, { kind: 'running' }), problem });
  },
};

const LAUNCHED_DONE = { kind: 'launching', done: true } as const;

function onSignal(before: MachineState, signal: PowerSignal): Step {
  const refusal = refusalOf(before, signal);
  if (refusal !== null) return { ...to(before), answer: { accepted: false, reason: refusal } };
  const { phase } = before;
  // A caller's signal replaces the wanted state and clears earlier problems.
  const problem = phase.kind === 'offline' ? before.problem : null;
  const state = { ...before, gaveUpAtMs: null, problem };
  if (phase.kind === 'recovering') {
    // Only a kill gets here: a running instance is killed and the wanted state is cleared.
    const was = { kind: 'stopping', rung: 'kill', acknowledged: false, after: 'offline' } as const;
    return accepted(to({ ...state, phase: { kind: 'recovering', was } }, inspect(state)));
  }
  // A caller acted, so one more crash restart is allowed.
  const forgiven = begins(signal) ? { ...state, crashAtMs: null, triesLeft: 0 } : state;
  return accepted(act(forgiven, phase, POWER_TABLE[powerState(state)][signal]));
}

/** A refusal for the caller, or null. */
function refusalOf(state: MachineState, signal: PowerSignal): string | null {
  if (begins(signal) && state.withheld !== null) return state.withheld;
  if (signal === 'kill') return null;
  if (!state.reachable) return 'The engine of this node does not answer.';
  if (state.phase.kind === 'recovering') {
    return 'The node does not know yet whether the server runs.';
  }
  return POWER_TABLE[powerState(state)][signal] === 'refuse'
    ? 'The server is stopping; it can be started once it is offline.'
    : null;
}

function act(state: MachineState, phase: KnownPhase, action: PowerAction): Step {
  switch (action) {
    case 'launch':
      return launch(state);
    case 'stop':
      return endWith(state, phase, 'stop', 'offline');
    case 'restart':
      return endWith(state, phase, 'stop', 'start');
    case 'kill':
      return endWith(state, phase, 'kill', 'offline');
    case 'nothing':
    case 'refuse':
    default:
      return to(state);
  }
}

/** Stops what runs or is starting. */
function endWith(state: MachineState, phase: KnownPhase, how: 'stop' | 'kill', after: After): Step {
  switch (phase.kind) {
    case 'offline':
      return after === 'start' ? launch(state) : to(state);
    case 'launching':
      return to(becomes(state, { kind: 'cancelling', how, after }), {
        kind: 'cancel_launch',
        run: state.run,
      });
    case 'cancelling':
      return to({ ...state, phase: { ...phase, after, how: how === 'kill' ? how : phase.how } });
    case 'stopping':
      // A running stop continues: a new one would restart its timers.
      return how === 'kill'
        ? beginStop(state, 'kill', after)
        : to({ ...state, phase: { ...phase, after } });
    case 'starting':
    case 'running':
    default:
      return beginStop(state, how === 'kill' ? 'kill' : 'egg', after);
  }
}

/** It must not run any more: it is stopped as by a caller, and nothing starts it. */
function giveWay(state: MachineState): Step {
  const { phase } = state;
  if (phase.kind !== 'recovering') return endWith(state, phase, 'stop', 'offline');
  const { was } = phase;
  const stays = was.kind === 'cancelling' || was.kind === 'stopping';
  return stays
    ? to({ ...state, phase: { kind: 'recovering', was: { ...was, after: 'offline' } } })
    : to(state);
}

function escalate(
  state: MachineState,
  { rung, acknowledged, after }: Extract<KnownPhase, { kind: 'stopping' }>,
): Step {
  if (!acknowledged) return beginStop(state, rung, after);
  return beginStop(state, rung === 'egg' ? 'term' : 'kill', after);
}

function onLaunched(before: MachineState, run: number, { settings }: Context): Step {
  if (run !== before.run) return to(before);
  const state: MachineState = { ...before, attached: 'launched' };
  const { phase } = state;
  if (phase.kind === 'cancelling') {
    return beginStop(state, phase.how === 'kill' ? 'kill' : 'egg', phase.after);
  }
  if (phase.kind !== 'launching') return to(before);
  const isUp = phase.done || !settings.hasDone;
  const next = becomes(state, { kind: isUp ? 'running' : 'starting' });
  // It may have ended already; only an inspection tells.
  return isUp
    ? to(next, inspect(next))
    : to(next, phaseTimer(next, settings.slowStartMs), inspect(next));
}

function onAlive(state: MachineState, facts: InstanceFacts, context: Context): Step {
  const { phase } = state;
  const { reachable, engineLeft } = state;
  const known = {
    ...state,
    attached: facts.startedAtMs,
    paused: facts.status === 'paused',
    // An inspection from before the outage says nothing about now.
    engineLeft: engineLeft && !reachable,
    hostRestarted: false,
  };
  if (phase.kind === 'recovering') return resume(known, phase.was, context);
  // Another program started it.
  if (phase.kind === 'offline') return adopt(known, 'running', context);
  const isAttached = state.attached === 'launched' || state.attached === facts.startedAtMs;
  return isAttached ? to(known) : to(known, { kind: 'attach', run: state.run });
}

/** Found running by a new agent, which continues where the previous one was. */
function resume(state: MachineState, was: KnownPhase, context: Context): Step {
  switch (was.kind) {
    case 'launching':
    case 'starting':
      return adopt(state, context.settings.hasDone ? 'starting' : 'running', context);
    case 'offline':
    case 'running':
      return adopt(state, 'running', context);
    case 'cancelling':
      return withConsole(beginStop(state, was.how === 'kill' ? 'kill' : 'egg', was.after));
    case 'stopping':
    default: {
      if (!was.acknowledged) return withConsole(beginStop(state, was.rung, was.after));
      // It was signalled already: a second SIGINT ends some games without a save.
      const next = becomes(state, was);
      const { termAfterMs, killAfterMs } = context.settings.stopTimes;
      const afterMs = { egg: termAfterMs, term: killAfterMs, kill: 0 }[was.rung];
      return withConsole(to(next, phaseTimer(next, afterMs)));
    }
  }
}

function adopt(state: MachineState, kind: 'starting' | 'running', context: Context): Step {
  if (state.withheld !== null) return withConsole(beginStop(state, 'egg'));
  const next = becomes(state, { kind });
  return kind === 'running'
    ? withConsole(to(next))
    : withConsole(to(next, phaseTimer(next, context.settings.slowStartMs)));
}

function withConsole(done: Step): Step {
  // First the console: a stop may be a command on it.
  return { ...done, effects: [{ kind: 'attach', run: done.state.run }, ...done.effects] };
}

/** A launch reports its own result; until then an instance may exist or not. */
function isLooking({ phase }: MachineState): boolean {
  return phase.kind !== 'launching' && phase.kind !== 'cancelling';
}

function look(state: MachineState): Step {
  return isLooking(state) ? to(state, inspect(state)) : to(state);
}

function accepted(done: Step): Step {
  const answer: Answer = { accepted: true };
  return { ...done, answer };
}
