import assert from 'node:assert/strict';
import { it } from 'node:test';
import { addCommand, NO_HISTORY, stepHistory } from './command-history.ts';

it('goes back through sent commands and forward to what was being typed', () => {
  let history = ['list', 'say hi', 'say hi'].reduce(addCommand, NO_HISTORY);
  assert.deepEqual(history.sent, ['list', 'say hi']);
  const shown: string[] = [];
  let typed = 'sa';
  for (const by of [-1, -1, -1, 1, 1, 1] as const) {
    const step = stepHistory(history, by, typed);
    if (step === null) continue;
    history = step.history;
    typed = step.shown;
    shown.push(typed);
  }
  assert.deepEqual(shown, ['say hi', 'list', 'say hi', 'sa']);
});

it('keeps the last fifty', () => {
  const many = Array.from({ length: 80 }, (_, number) => `command ${number}`);
  const { sent } = many.reduce(addCommand, NO_HISTORY);
  assert.deepEqual([sent.length, sent[0], sent.at(-1)], [50, 'command 30', 'command 79']);
});
