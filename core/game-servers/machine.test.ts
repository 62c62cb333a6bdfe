import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { serverState } from './machine-state.ts';
import type { PowerSignal, ServerState, StartWithHost } from './power.ts';
import { SETTINGS, World } from './testing/world.ts';

const START = { kind: 'signal', signal: 'start' } as const;
const STOP = { kind: 'signal', signal: 'stop' } as const;
const RESTART = { kind: 'signal', signal: 'restart' } as const;
const KILL = { kind: 'signal', signal: 'kill' } as const;

/** The visible states with the phases behind each. */
const REACH: Readonly<Record<string, (world: World) => void>> = {
  offline: () => {},
  launching: (world) => void world.post(START),
  starting: (world) => {
    world.post(START);
    world.answer(0, true);
    world.answer(0, true);
  },
  running: (world) => {
    world.post(START);
    world.answer(0, true);
    world.answer(0, true);
    world.post({ kind: 'done', run: world.machine.run });
  },
  stopping: (world) => {
    REACH['running']?.(world);
    world.endsBy = 'kill';
    world.post(STOP);
    world.answer(0, true);
  },
  cancelling: (world) => {
    world.post(START);
    world.post(STOP);
  },
};

/** The final state of each decision, or `refused`. `starting` becomes running in the end. */
const TABLE: Readonly<Record<string, Readonly<Record<PowerSignal, ServerState | 'refused'>>>> = {
  offline: { start: 'running', stop: 'offline', restart: 'running', kill: 'offline' },
  launching: { start: 'running', stop: 'offline', restart: 'running', kill: 'offline' },
  starting: { start: 'running', stop: 'offline', restart: 'running', kill: 'offline' },
  running: { start: 'running', stop: 'offline', restart: 'running', kill: 'offline' },
  stopping: { start: 'refused', stop: 'offline', restart: 'running', kill: 'offline' },
  cancelling: { start: 'refused', stop: 'offline', restart: 'running', kill: 'offline' },
};

function worldIn(phase: string): World {
  const world = new World();
  REACH[phase]?.(world);
  assert.equal(world.machine.phase.kind, phase);
  return world;
}

describe('the power machine', () => {
  for (const [phase, cells] of Object.entries(TABLE)) {
    for (const [signal, wanted] of Object.entries(cells) as [PowerSignal, string][]) {
      it(`${phase} + ${signal}: ${wanted}`, () => {
        const world = worldIn(phase);
        const { run } = world.machine;
        const answer = world.post({ kind: 'signal', signal });
        assert.deepEqual(answer?.accepted, wanted !== 'refused');
        world.settle();
        assert.equal(serverState(world.machine), wanted === 'refused' ? 'offline' : wanted);
        assert.equal(world.isAlive, wanted === 'running');
        const isAnew = signal === 'restart' || (signal === 'start' && phase === 'offline');
        assert.equal(world.machine.run, isAnew ? run + 1 : run);
      });
    }
  }

  it('shows each state at once: the started transition, not its result', () => {
    const cases: readonly [string, PowerSignal, ServerState][] = [
      ['offline', 'start', 'starting'],
      ['offline', 'restart', 'starting'],
      ['running', 'stop', 'stopping'],
      ['running', 'restart', 'stopping'],
      ['starting', 'stop', 'stopping'],
      ['launching', 'stop', 'stopping'],
      ['running', 'start', 'running'],
      ['starting', 'start', 'starting'],
    ];
    for (const [phase, signal, shown] of cases) {
      const world = worldIn(phase);
      world.post({ kind: 'signal', signal });
      assert.equal(serverState(world.machine), shown, `${phase} + ${signal}`);
    }
  });

  it('waits for a server that saves for 15 s, and ends a hanging one with TERM, then KILL', () => {
    const saving = worldIn('stopping');
    saving.pass(15_000);
    saving.change(saving.ends(0));
    saving.settle();
    assert.deepEqual(sentStops(saving), ['egg']);

    const hanging = worldIn('stopping');
    hanging.pass(59_999);
    assert.deepEqual(sentStops(hanging), ['egg']);
    hanging.pass(1);
    hanging.answer(0, true);
    hanging.pass(19_999);
    assert.deepEqual(sentStops(hanging), ['egg', 'term']);
    hanging.settle();
    assert.deepEqual(sentStops(hanging), ['egg', 'term', 'kill']);
    assert.equal(serverState(hanging.machine), 'offline');
  });

  it('continues at once if the stop of the egg could not be delivered, and waits if the engine was away', () => {
    const deaf = worldIn('running');
    deaf.nowMs = 2_000_000;
    deaf.post(STOP);
    deaf.answer(0, false);
    assert.deepEqual(sentStops(deaf), ['egg', 'term']);

    const away = worldIn('running');
    away.nowMs = 2_000_001;
    away.post(STOP);
    away.answer(0, false);
    assert.deepEqual(sentStops(away), ['egg']);
    away.pass(2_000);
    assert.deepEqual(sentStops(away), ['egg', 'egg']);
  });

  it('restarts a crashed server once; after a second crash soon after it stays offline', () => {
    const world = worldIn('running');
    world.change(world.ends());
    world.settle();
    assert.equal(serverState(world.machine), 'running');
    // Settling took as long as a slow start.
    world.machine = { ...world.machine, crashAtMs: world.nowMs - 59_000 };
    world.change(world.ends());
    world.settle();
    assert.equal(serverState(world.machine), 'offline');
    assert.match(world.machine.problem ?? '', /exit code 1.*crashed twice within 60 s/);
  });

  it('restarts a server as often as its tries allow, each crash soon after the one before', () => {
    const world = worldIn('running');
    world.settings = { ...SETTINGS, crashes: { restart: true, withinMs: 60_000, tries: 3 } };
    const crash = (sinceMs: number): ServerState => {
      world.machine = { ...world.machine, crashAtMs: world.nowMs - sinceMs };
      world.change(world.ends());
      world.settle();
      return serverState(world.machine);
    };
    assert.equal(crash(90_000), 'running');
    for (const _ of [2, 3]) assert.equal(crash(1_000), 'running');
    assert.equal(crash(61_000), 'running', 'counted anew');
    for (const _ of [2, 3]) assert.equal(crash(1_000), 'running');
    assert.equal(crash(1_000), 'offline');
    assert.match(world.machine.problem ?? '', /crashed 4 times, each within 60 s/);
    world.post(START);
    world.settle();
    assert.equal(serverState(world.machine), 'running');
    assert.equal(crash(Infinity), 'running', 'an operator who starts it forgives');
  });

  it('starts with its host as it is set to, and that is no crash', () => {
    const after = (phase: string, startWithHost: StartWithHost, crashes = SETTINGS.crashes) => {
      const world = worldIn(phase);
      world.settings = { ...SETTINGS, startWithHost, crashes };
      world.restartHost();
      world.settle();
      assert.equal(world.machine.crashAtMs, null);
      assert.equal(world.machine.hostRestarted, false);
      return serverState(world.machine);
    };
    const never = { restart: false, withinMs: 60_000, tries: 1 };
    for (const phase of ['running', 'starting', 'launching']) {
      assert.equal(after(phase, 'as_before'), 'running', phase);
      assert.equal(after(phase, 'as_before', never), 'running', phase);
      assert.equal(after(phase, 'always'), 'running', phase);
      assert.equal(after(phase, 'never'), 'offline', phase);
    }
    for (const phase of ['offline', 'stopping', 'cancelling']) {
      assert.equal(after(phase, 'as_before'), 'offline', phase);
      assert.equal(after(phase, 'always'), 'running', phase);
      assert.equal(after(phase, 'never'), 'offline', phase);
    }
  });

  it('is not started with its host while it must not run, and is left alone where it runs', () => {
    const world = worldIn('offline');
    world.settings = { ...SETTINGS, startWithHost: 'always' };
    world.post({ kind: 'withhold', reason: 'The server is suspended.' });
    world.restartHost();
    world.settle();
    assert.equal(serverState(world.machine), 'offline');
    const other = worldIn('running');
    other.settings = { ...SETTINGS, startWithHost: 'never' };
    other.restartHost();
    // Another program started it before the agent looked.
    other.instance = other.begins();
    other.settle();
    assert.equal(serverState(other.machine), 'running');
    assert.equal(other.machine.hostRestarted, false);
  });

  it('never treats an engine restart as a crash, also if it ends its servers first', () => {
    const world = worldIn('running');
    for (let restarts = 0; restarts < 4; restarts += 1) {
      // Docker without live restore ends them; launches fail until it is gone, or succeed and end as well.
      world.change(world.ends(0));
      for (let answers = 0; answers < restarts; answers += 1) {
        world.answer(0, restarts % 2 === 1);
        world.change(world.ends(137));
      }
      world.post({ kind: 'lost' });
      world.pass(2_000);
      world.post({ kind: 'gap' });
      while (world.pending.length > 0) world.answer(0, true);
      assert.ok(world.isAlive, `restart ${restarts}`);
      world.post({ kind: 'done', run: world.machine.run });
      assert.equal(world.machine.crashAtMs, null);
    }
    // If it is killed, it ends them after its return.
    for (let kills = 0; kills < 3; kills += 1) {
      world.post({ kind: 'lost' });
      world.instance = world.ends(137);
      world.post({ kind: 'gap' });
      world.answer(0, true);
      assert.equal(serverState(world.machine), 'starting');
      assert.match(world.machine.problem ?? '', /engine of this node was away/);
      while (world.pending.length > 0) world.answer(0, true);
      world.post({ kind: 'done', run: world.machine.run });
    }
    world.change(world.ends());
    world.answer(0, true);
    assert.match(world.machine.problem ?? '', /exit code 1\. It was started again/, 'its own');
  });

  it('starts a server that was given up just before the engine went away, and no other', () => {
    const gaveUp = (): World => {
      const world = worldIn('running');
      world.settings = { ...SETTINGS, crashes: { restart: false, withinMs: 60_000, tries: 1 } };
      world.change(world.ends());
      world.answer(0, true);
      assert.equal(serverState(world.machine), 'offline');
      return world;
    };
    const ended = gaveUp();
    ended.pass(15_000);
    ended.post({ kind: 'lost' });
    ended.settle();
    assert.equal(serverState(ended.machine), 'running');

    const failed = worldIn('launching');
    failed.nowMs += failed.nowMs % 2;
    failed.answer(0, false);
    failed.post({ kind: 'lost' });
    failed.settle();
    assert.equal(serverState(failed.machine), 'running');

    const long = gaveUp();
    long.pass(31_000);
    const stopped = gaveUp();
    stopped.post(STOP);
    const suspended = gaveUp();
    suspended.post({ kind: 'withhold', reason: 'The server is suspended.' });
    const suspendedAfter = worldIn('launching');
    suspendedAfter.answer(0, false);
    suspendedAfter.post({ kind: 'withhold', reason: 'The server is suspended.' });
    for (const world of [long, stopped, suspended, suspendedAfter]) {
      world.post({ kind: 'lost' });
      world.settle();
      assert.equal(serverState(world.machine), 'offline');
    }
  });

  it('ignores crashes before a requested start', () => {
    const world = new World();
    world.settings = { ...SETTINGS, hasDone: false };
    for (let starts = 0; starts < 3; starts += 1) {
      world.post(START);
      world.settle();
      world.change(world.ends());
      world.settle();
      assert.equal(serverState(world.machine), 'running');
      world.change(world.ends());
      world.settle();
      assert.equal(serverState(world.machine), 'offline');
    }
  });

  it('ignores outdated answers and timers', () => {
    const world = worldIn('running');
    world.post(STOP);
    const { epoch, run } = world.machine;
    world.post(KILL);
    const before = world.machine;
    world.post({ kind: 'stop_sent', epoch });
    world.post({ kind: 'stop_failed', epoch, reachable: true });
    world.post({ kind: 'phase_timer', epoch });
    world.post({ kind: 'inspected', run: run - 1, instance: null });
    world.post({ kind: 'inspect_failed', run: run - 1 });
    world.post({ kind: 'look_timer', run: run - 1 });
    world.post({ kind: 'launched', run });
    world.post({ kind: 'launch_failed', run, reason: 'Late.', reachable: true });
    world.post({ kind: 'done', run });
    assert.deepEqual(world.machine, before);
  });

  it('tries a start after a crash several times, and a requested start once', () => {
    const world = worldIn('running');
    world.change(world.ends());
    world.answer(0, true);
    for (let tries = 0; tries < 3; tries += 1) {
      assert.deepEqual(world.machine.phase.kind, 'launching', `try ${tries}`);
      world.answer(0, false);
      world.pass(5_000);
      world.answer(0, true);
    }
    world.settle();
    assert.equal(serverState(world.machine), 'offline');
    assert.match(world.machine.problem ?? '', /could not be started/);

    const requested = worldIn('running');
    requested.change(requested.ends());
    requested.settle();
    requested.post(STOP);
    requested.settle();
    requested.nowMs = 2_000_000;
    requested.post(START);
    requested.answer(0, false);
    requested.settle();
    assert.equal(serverState(requested.machine), 'offline');
    assert.equal(requested.effects.filter(({ kind }) => kind === 'launch').length, 3);
  });

  it('treats a crash long after the last one as the first, and restarts none if the policy forbids it', () => {
    const world = worldIn('running');
    for (let crashes = 0; crashes < 5; crashes += 1) {
      world.change(world.ends());
      world.settle();
      world.pass(61_000);
      assert.equal(serverState(world.machine), 'running');
    }
    world.settings = { ...SETTINGS, crashes: { restart: false, withinMs: 60_000, tries: 1 } };
    world.change(world.ends());
    world.settle();
    assert.equal(serverState(world.machine), 'offline');
  });

  it('runs with a warning if the done line did not appear, and at once without a done line', () => {
    const slow = worldIn('starting');
    slow.pass(300_000);
    assert.equal(serverState(slow.machine), 'running');
    assert.match(slow.machine.problem ?? '', /5 min/);

    const silent = new World();
    silent.settings = { ...SETTINGS, hasDone: false };
    silent.post(START);
    silent.answer(0, true);
    assert.equal(serverState(silent.machine), 'running');

    const quick = worldIn('launching');
    quick.post({ kind: 'done', run: quick.machine.run });
    quick.answer(0, true);
    assert.equal(serverState(quick.machine), 'running');
  });

  it('neither starts nor restarts a withheld server, and stops it when it becomes withheld', () => {
    for (const phase of Object.keys(REACH)) {
      const world = worldIn(phase);
      world.post({ kind: 'withhold', reason: 'The server is suspended.' });
      const refusal = { accepted: false, reason: 'The server is suspended.' };
      assert.deepEqual(world.post(START), refusal);
      assert.deepEqual(world.post(RESTART), refusal);
      assert.deepEqual(world.post(STOP), { accepted: true });
      world.settle();
      assert.equal(serverState(world.machine), 'offline', phase);
      world.post({ kind: 'withhold', reason: null });
      assert.deepEqual(world.post(START), { accepted: true });
    }
  });

  it('follows external changes of its instance: started, paused, restarted, stopped, removed', () => {
    const world = new World();
    world.change(world.begins());
    world.settle();
    assert.equal(serverState(world.machine), 'running');
    world.change({ ...(world.instance ?? world.begins()), status: 'paused' });
    world.settle();
    assert.equal(serverState(world.machine), 'paused');
    const attached = world.effects.filter(({ kind }) => kind === 'attach').length;
    world.change(world.begins());
    world.settle();
    assert.equal(world.effects.filter(({ kind }) => kind === 'attach').length, attached + 1);
    world.change(null);
    world.answer(0, true);
    assert.equal(serverState(world.machine), 'starting');
    assert.match(world.machine.problem ?? '', /removed.*started again/);
  });

  it('reconnects a closed console and does not treat it as the end of the server', () => {
    const world = worldIn('running');
    while (world.pending.length > 0) world.answer(0, true);
    const attached = (): number => world.effects.filter(({ kind }) => kind === 'attach').length;
    const before = attached();
    world.post({ kind: 'detached' });
    assert.equal(serverState(world.machine), 'running');
    world.pass(4_999);
    assert.deepEqual(world.pending, []);
    world.settle();
    assert.equal(serverState(world.machine), 'running');
    assert.equal(attached(), before + 1);
    world.post(STOP);
    world.post({ kind: 'detached' });
    world.settle();
    assert.equal(serverState(world.machine), 'offline');
  });

  it('sends no requests while the engine is away, and inspects as soon as it is back', () => {
    const world = worldIn('running');
    while (world.pending.length > 0) world.answer(0, true);
    world.post({ kind: 'detached' });
    world.post({ kind: 'changed' });
    world.post({ kind: 'lost' });
    world.answer(0, false);
    world.pass(60_000);
    assert.deepEqual(world.pending, []);
    world.post({ kind: 'gap' });
    assert.deepEqual(
      world.pending.map(({ kind }) => kind),
      ['inspect'],
    );
  });

  it('rejects signals while the engine is away, except a kill', () => {
    const world = worldIn('running');
    world.post({ kind: 'lost' });
    for (const event of [START, STOP, RESTART]) assert.equal(world.post(event)?.accepted, false);
    assert.equal(world.post(KILL)?.accepted, true);
    world.settle();
    assert.equal(serverState(world.machine), 'offline');
  });
});

function sentStops(world: World): string[] {
  return world.effects.flatMap((effect) => (effect.kind === 'send_stop' ? [effect.rung] : []));
}
