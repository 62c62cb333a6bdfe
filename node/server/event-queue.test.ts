import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type Effect,
  NEW_MACHINE,
  serverState,
} from '@portcullis/core/game-servers/machine-state.ts';
import { EventQueue } from './event-queue.ts';

const SETTINGS = {
  hasDone: true,
  slowStartMs: 300_000,
  stopTimes: { termAfterMs: 60_000, killAfterMs: 60_000 },
  crashes: { restart: true, withinMs: 60_000, tries: 1 },
  startWithHost: 'as_before',
} as const;
const never = (): boolean => false;

/** A queue whose writes complete when `written` is called. */
function open() {
  const effects: Effect[] = [];
  const saves: (() => void)[] = [];
  const states: string[] = [];
  const queue = new EventQueue({
    state: NEW_MACHINE,
    context: () => ({ atMs: 0, settings: SETTINGS }),
    save: () => new Promise((resolve) => saves.push(resolve)),
    perform: (effect) => effects.push(effect),
    onChange: (state) => states.push(serverState(state)),
  });
  const written = async (): Promise<void> => {
    saves.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { queue, effects, saves, states, written };
}

describe('the event queue of a server', () => {
  it('performs, shows and answers nothing before it is written to the disk', async () => {
    const { queue, effects, written } = open();
    let answered = false;
    const answer = queue.signal('start', never).then((value) => {
      answered = true;
      return value;
    });
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([effects, answered, serverState(queue.state)], [[], false, 'offline']);
    await written();
    assert.deepEqual(await answer, { accepted: true });
    assert.deepEqual(effects, [{ kind: 'launch', run: 1 }]);
    assert.equal(serverState(queue.state), 'starting');
  });

  it('does not start an expired signal', async () => {
    const { queue, effects, written } = open();
    const first = queue.signal('start', never);
    let expired = false;
    const second = queue.signal('kill', () => expired);
    expired = true;
    await written();
    assert.deepEqual(await first, { accepted: true });
    assert.equal(await second, null);
    assert.equal(effects.length, 1);
    assert.equal(serverState(queue.state), 'starting');
  });

  it('processes signals that arrive during a write together and in order: 1,000 signals take two writes', async () => {
    const { queue, saves, states, written } = open();
    const answers = Array.from({ length: 1_000 }, (_, index) =>
      queue.signal(index % 2 === 0 ? 'start' : 'kill', never),
    );
    await written();
    assert.equal(saves.length, 1);
    await written();
    for (const answer of await Promise.all(answers)) assert.notEqual(answer, null);
    assert.equal(saves.length, 0);
    assert.deepEqual(states, ['starting', 'stopping']);
  });

  it('answers null and performs nothing after it was closed', async () => {
    const { queue, effects, written } = open();
    const first = queue.signal('start', never);
    const second = queue.signal('kill', never);
    const closed = queue.close();
    assert.equal(await second, null);
    await written();
    await closed;
    await first;
    assert.deepEqual(effects, []);
    assert.equal(await queue.signal('kill', never), null);
  });
});
