import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type Effect,
  NEW_MACHINE,
  serverState,
} from '@portcullis/core/game-servers/machine-state.ts';
import { Mailbox } from './event-queue.ts';

const SETTINGS = {
  hasDone: true,
  slowStartMs: 300_000,
  stopTimes: { termAfterMs: 60_000, killAfterMs: 60_000 },
  crashes: { restart: true, withinMs: 60_000 },
};
const inTime = (): boolean => false;

/** Over a disk that takes its time: nothing is on it before `written` is called. */
function open() {
  const effects: Effect[] = [];
  const saves: (() => void)[] = [];
  const states: string[] = [];
  const mailbox = new Mailbox({
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
  return { mailbox, effects, saves, states, written };
}

describe('the mailbox of a server', () => {
  it('does, shows and answers nothing that is not on the disk', async () => {
    const { mailbox, effects, written } = open();
    let answered = false;
    const answer = mailbox.ask('start', inTime).then((value) => {
      answered = true;
      return value;
    });
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([effects, answered, serverState(mailbox.state)], [[], false, 'offline']);
    await written();
    assert.deepEqual(await answer, { accepted: true });
    assert.deepEqual(effects, [{ kind: 'launch', run: 1 }]);
    assert.equal(serverState(mailbox.state), 'starting');
  });

  it('does not begin what nobody waits for any more', async () => {
    const { mailbox, effects, written } = open();
    const first = mailbox.ask('start', inTime);
    let late = false;
    const second = mailbox.ask('kill', () => late);
    late = true;
    await written();
    assert.deepEqual(await first, { accepted: true });
    assert.equal(await second, null);
    assert.equal(effects.length, 1);
    assert.equal(serverState(mailbox.state), 'starting');
  });

  it('decides together what comes while it writes: 1,000 signals are two writes, in their order', async () => {
    const { mailbox, saves, states, written } = open();
    const answers = Array.from({ length: 1_000 }, (_, index) =>
      mailbox.ask(index % 2 === 0 ? 'start' : 'kill', inTime),
    );
    await written();
    assert.equal(saves.length, 1);
    await written();
    for (const answer of await Promise.all(answers)) assert.notEqual(answer, null);
    assert.equal(saves.length, 0);
    assert.deepEqual(states, ['starting', 'stopping']);
  });

  it('answers nobody after it was closed, and does nothing more', async () => {
    const { mailbox, effects, written } = open();
    const first = mailbox.ask('start', inTime);
    const second = mailbox.ask('kill', inTime);
    const closed = mailbox.close();
    assert.equal(await second, null);
    await written();
    await closed;
    await first;
    assert.deepEqual(effects, []);
    assert.equal(await mailbox.ask('kill', inTime), null);
  });
});
