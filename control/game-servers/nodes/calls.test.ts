import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeCall } from '@portcullis/link/messages/node.ts';
import type { Notice } from '@portcullis/link/messages/messages.ts';
import { NodeCalls } from './calls.ts';

function calling(handed = 1) {
  const calls = new NodeCalls({ called: () => {} });
  const sent: NodeCall[] = [];
  calls.speakThrough({
    notify: (notice: Notice) => {
      if (notice.kind === 'node.call') sent.push(notice);
      return handed;
    },
  });
  return { calls, sent };
}
const start = { kind: 'power', signal: 'start' } as const;
const PLACE = { node: 'n', uuid: 'u' };
const accepted = { kind: 'accepted' } as const;
const answerTo = (id: string) =>
  ({ kind: 'node.answer', instance: 'one', id, answer: accepted }) as const;

test('accepts an answer once and only from the called node', async () => {
  const { calls, sent } = calling();
  const outcome = calls.call(PLACE, start, 50);
  const id = sent[0]?.id ?? '';
  calls.answered('m', answerTo(id));
  calls.answered('n', answerTo('other'));
  calls.answered('n', answerTo(id));
  calls.answered('n', answerTo(id));
  assert.deepEqual(await outcome, accepted);
  assert.equal(calls.open, 0);
});

test('ends an unanswered call after its timeout, and a call to an absent node at once', async () => {
  const { calls } = calling();
  assert.deepEqual(await calls.call(PLACE, start, 20), { kind: 'silent', why: 'late' });
  const alone = calling(0);
  assert.deepEqual(await alone.calls.call(PLACE, start, 60_000), {
    kind: 'silent',
    why: 'absent',
  });
  assert.deepEqual(await new NodeCalls({ called: () => {} }).call(PLACE, start, 1_000), {
    kind: 'silent',
    why: 'absent',
  });
  assert.equal(calls.open + alone.calls.open, 0);
});

test('bounds pending calls and rejects further ones at once', async () => {
  const { calls, sent } = calling();
  const open = Array.from({ length: 1_000 }, () => calls.call(PLACE, start, 50));
  assert.deepEqual(await calls.call(PLACE, start, 1_000), { kind: 'silent', why: 'busy' });
  const elsewhere = calls.call({ ...PLACE, node: 'm' }, start, 1_000);
  calls.answered('m', answerTo(sent.at(-1)?.id ?? ''));
  assert.deepEqual(await elsewhere, accepted);
  for (const outcome of await Promise.all(open)) assert.equal(outcome.kind, 'silent');
  assert.equal(calls.open, 0);
});
