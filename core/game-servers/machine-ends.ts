import type { Context, InstanceFacts, KnownPhase, MachineState, Step } from './machine-state.ts';
import { becomes, launch, to, TRIES } from './machine-steps.ts';

/** A stopping engine ends its servers first: Docker gives them 10 s, and itself 15 s. */
const ENGINE_ENDS_MS = 30_000;

/**
 * The engine went away. Servers that ended shortly before, or that are found ended after its return, ended because of
 * it: that is no crash, and the wanted state stays.
 */
export function onLost(state: MachineState, { atMs }: Context): Step {
  const isRecent = (ms: number | null): boolean =>
    ms !== null && Math.abs(atMs - ms) < ENGINE_ENDS_MS;
  const crashAtMs = isRecent(state.crashAtMs) ? null : state.crashAtMs;
  const next: MachineState = { ...state, reachable: false, engineLeft: true, crashAtMs };
  if (state.withheld !== null || !isRecent(state.gaveUpAtMs)) return to(next);
  const { phase } = state;
  // A failed launch is being verified.
  if (phase.kind === 'stopping') return to({ ...next, phase: { ...phase, after: 'start' } });
  return phase.kind === 'offline'
    ? to(becomes(next, { kind: 'recovering', was: { kind: 'running' } }))
    : to(next);
}

/** An inspection found no running instance. */
export function onDead(state: MachineState, facts: InstanceFacts | null, context: Context): Step {
  const { phase } = state;
  const was = phase.kind === 'recovering' ? phase.was : phase;
  const gone = { ...state, attached: null, paused: false };
  if (state.hostRestarted) return onHostRestarted(gone, was, context);
  switch (was.kind) {
    case 'offline':
      return phase.kind === 'offline' ? to(gone) : to(becomes(gone, was));
    case 'cancelling':
    case 'stopping':
      return was.after === 'start' ? launch(gone) : to(becomes(gone, { kind: 'offline' }));
    case 'launching':
      // The launch ended with its agent; it was wanted, so it is repeated.
      return gone.withheld === null ? launch(gone) : to(becomes(gone, { kind: 'offline' }));
    case 'starting':
    case 'running':
    default:
      return onCrash(gone, facts, context);
  }
}

const NOT_WITH_HOST = 'Its host was restarted, and the server does not start with it.';

/** The first inspection since the host was started: nothing runs, so its settings say whether it is started. */
function onHostRestarted(
  state: MachineState,
  was: KnownPhase,
  { settings: { startWithHost } }: Context,
): Step {
  const next: MachineState = { ...state, hostRestarted: false, triesLeft: TRIES };
  const offline = becomes(next, { kind: 'offline' });
  const ran = wasWanted(was);
  if (state.withheld !== null || (!ran && startWithHost !== 'always')) return to(offline);
  if (startWithHost === 'never') return to({ ...offline, problem: NOT_WITH_HOST });
  return launch(next);
}

/** Whether it ran, or was to run next. */
function wasWanted(was: KnownPhase): boolean {
  if (was.kind === 'cancelling' || was.kind === 'stopping') return was.after === 'start';
  return was.kind !== 'offline';
}

function onCrash(state: MachineState, facts: InstanceFacts | null, context: Context): Step {
  const { restart, withinMs, tries } = context.settings.crashes;
  const problem = describeEnd(facts);
  const offline: MachineState = { ...becomes(state, { kind: 'offline' }), problem };
  if (state.withheld !== null) return to(offline);
  if (state.engineLeft) {
    const begun = launch({ ...state, triesLeft: TRIES });
    const why = 'It ended while the engine of this node was away. It was started again.';
    return { ...begun, state: { ...begun.state, problem: why } };
  }
  const gaveUpAtMs = context.atMs;
  if (!restart) return to({ ...offline, gaveUpAtMs });
  // A clock that was set back must not keep a server offline forever.
  const sinceMs = state.crashAtMs === null ? Infinity : Math.abs(context.atMs - state.crashAtMs);
  const crashCount = sinceMs < withinMs ? state.crashCount + 1 : 1;
  if (crashCount > tries) {
    const seconds = Math.round(withinMs / 1_000);
    const times =
      crashCount === 2
        ? `twice within ${seconds} s`
        : `${crashCount} times, each within ${seconds} s of the one before,`;
    const again = `${problem} It crashed ${times} and stays offline until it is started.`;
    return to({ ...offline, gaveUpAtMs, problem: again });
  }
  const begun = launch({ ...state, crashAtMs: context.atMs, crashCount, triesLeft: TRIES });
  return { ...begun, state: { ...begun.state, problem: `${problem} It was started again.` } };
}

function describeEnd(facts: InstanceFacts | null): string {
  if (facts === null) return 'Its container was removed.';
  if (facts.oomKilled) return 'It was killed because it went past its memory limit.';
  return facts.exitCode === null
    ? 'It ended by itself.'
    : `It ended by itself with exit code ${facts.exitCode}.`;
}
