import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isKnown, powerState } from './machine-state.ts';
import { World } from './testing/world.ts';

type Move = (world: World) => void;

const signal = fc.constantFrom('start', 'stop', 'restart', 'kill');
const SIGNALS = ['start', 'stop', 'restart', 'kill'] as const;

/** All events of a server, its agent and its engine. */
const move: fc.Arbitrary<[string, Move]> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...SIGNALS).map((one) => signalled(one)) },
  {
    weight: 10,
    arbitrary: fc
      .tuple(fc.nat(3), fc.boolean())
      .map(([index, isWell]) => named(`answer ${index} ${isWell}`, (w) => w.answer(index, isWell))),
  },
  {
    weight: 6,
    arbitrary: fc
      .constantFrom(1, 999, 5_000, 20_000, 61_000)
      .map((ms) => named(`pass ${ms}`, (w) => w.pass(ms))),
  },
  {
    weight: 8,
    arbitrary: fc.constantFrom(
      named('crash', (w) => w.change(w.ends())),
      named('removed', (w) => w.change(null)),
      named('started by others', (w) => w.isAlive || w.change(w.begins())),
      named('restarted by others', (w) => w.isAlive && w.change(w.begins())),
      named('paused', (w) => w.isAlive && w.change({ ...w.begins(), status: 'paused' })),
      named('ends unheard', (w) => {
        w.instance = w.ends();
      }),
      named('done', (w) => w.post({ kind: 'done', run: w.machine.run })),
      named('stale', (w) => w.post({ kind: 'launched', run: w.machine.run - 1 })),
      named('lost', (w) => w.post({ kind: 'lost' })),
      named('detached', (w) => w.post({ kind: 'detached' })),
      named('gap', (w) => w.post({ kind: 'gap' })),
      named('suspended', (w) => w.post({ kind: 'withhold', reason: 'It is suspended.' })),
      named('free', (w) => w.post({ kind: 'withhold', reason: null })),
      named('agent killed', (w) => w.restartAgent(false)),
      named('agent killed, launch got through', (w) => w.restartAgent(true)),
    ),
  },
);
// Long sequences: faults appear after many other events.
const moves = fc.array(move, { maxLength: 60, size: 'max' });
const game = fc.constantFrom('egg', 'term', 'kill');
const RUNS = { numRuns: 3_000 };

describe('the power machine, for any sequence of events', () => {
  it('settles, and then knows the real state', () => {
    fc.assert(
      fc.property(moves, game, (happened, endsBy) => {
        const world = played(happened, endsBy);
        world.settle();
        assert.ok(isKnown(world.machine));
        assert.equal(world.isAlive, powerState(world.machine) === 'running');
        if (world.machine.withheld !== null) assert.ok(!world.isAlive);
      }),
      RUNS,
    );
  });

  it('is offline after a kill and stays offline', () => {
    let checked = 0;
    fc.assert(
      fc.property(moves, game, (happened, endsBy) => {
        const world = played(happened, endsBy);
        // Another client started it and this has not been observed, so the order is undefined.
        if (world.isAlive && world.machine.phase.kind === 'offline') return;
        checked += 1;
        assert.deepEqual(world.post({ kind: 'signal', signal: 'kill' }), { accepted: true });
        const launches = count(world, 'launch');
        world.settle();
        assert.equal(powerState(world.machine), 'offline');
        assert.ok(!world.isAlive);
        assert.equal(count(world, 'launch'), launches);
      }),
      RUNS,
    );
    assert.ok(checked > RUNS.numRuns / 2, `only ${checked} runs were checked`);
  });

  it('runs after an accepted restart, from a new launch', () => {
    let checked = 0;
    fc.assert(
      fc.property(moves, game, (happened, endsBy) => {
        const world = played(happened, endsBy);
        const { run } = world.machine;
        if (world.post({ kind: 'signal', signal: 'restart' })?.accepted !== true) return;
        checked += 1;
        world.settle();
        assert.equal(powerState(world.machine), 'running');
        assert.ok(world.machine.run > run);
      }),
      RUNS,
    );
    assert.ok(checked > RUNS.numRuns / 4, `only ${checked} runs were checked`);
  });

  it('keeps an accepted signal when its agent is killed right after', () => {
    let checked = 0;
    fc.assert(
      fc.property(moves, signal, fc.boolean(), (happened, last, gotThrough) => {
        const world = played(happened, 'egg');
        const uninterrupted = played(happened, 'egg');
        const { epoch } = uninterrupted.machine;
        const isStaleTell = (one: World['pending'][number]): boolean =>
          one.kind === 'send_stop' && one.epoch < epoch;
        const answer = uninterrupted.post({ kind: 'signal', signal: last });
        world.post({ kind: 'signal', signal: last });
        world.restartAgent(gotThrough);
        // A pending kill may or may not hit an instance that another client started meanwhile.
        if (answer?.accepted !== true || uninterrupted.pending.some(isStaleTell)) return;
        checked += 1;
        world.settle();
        uninterrupted.settle();
        assert.equal(powerState(world.machine), powerState(uninterrupted.machine));
      }),
      RUNS,
    );
    assert.ok(checked > RUNS.numRuns / 4, `only ${checked} runs were checked`);
  });

  it('restarts a crashing server at most once in the configured time', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 90_000 }), { maxLength: 30 }), (lives) => {
        const world = new World();
        world.settings = { ...world.settings, hasDone: false };
        world.post({ kind: 'signal', signal: 'start' });
        const launchedAtMs: number[] = [];
        for (const ms of lives) {
          while (world.pending.length > 0) world.answer(0, true);
          if (!world.isAlive) break;
          world.pass(ms);
          world.change(world.ends());
          const before = count(world, 'launch');
          while (world.pending.length > 0) world.answer(0, true);
          if (count(world, 'launch') > before) launchedAtMs.push(world.nowMs);
        }
        for (const [index, atMs] of launchedAtMs.entries()) {
          assert.ok(index === 0 || atMs - (launchedAtMs[index - 1] ?? 0) >= 60_000);
        }
      }),
    );
  });
});

function named(name: string, play: (world: World) => unknown): [string, Move] {
  return [name, (world) => void play(world)];
}

function signalled(one: (typeof SIGNALS)[number]): [string, Move] {
  return named(one, (world) => world.post({ kind: 'signal', signal: one }));
}

function played(happened: readonly [string, Move][], endsBy: World['endsBy']): World {
  const world = new World();
  world.endsBy = endsBy;
  for (const [, play] of happened) play(world);
  return world;
}

function count(world: World, kind: string): number {
  return world.effects.filter((effect) => effect.kind === kind).length;
}
