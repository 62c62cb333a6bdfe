import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NodeCall } from '@portcullis/link/messages/node.ts';
import type { Notice } from '@portcullis/link/messages/messages.ts';
import { NodeCalls } from './calls.ts';

function calling(handed = 1) {
  const calls = new NodeCalls();
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
const request = (call: NodeCall['call'], uuid = 'u', withinMs = 1_000) => ({
  node: 'n',
  uuid,
  withinMs,
  call,
});
const accepted = { kind: 'accepted' } as const;
const answerTo = (id: string) =>
  ({ kind: 'node.answer', instance: 'one', id, answer: accepted }) as const;

test('accepts an answer once and only from the called node', async () => {
  const { calls, sent } = calling();
  const outcome = calls.call(request(start, 'u', 50));
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
  assert.deepEqual(await calls.call(request(start, 'u', 20)), { kind: 'silent', why: 'late' });
  const alone = calling(0);
  assert.deepEqual(await alone.calls.call(request(start, 'u', 60_000)), {
    kind: 'silent',
    why: 'absent',
  });
  assert.deepEqual(await new NodeCalls().call(request(start)), { kind: 'silent', why: 'absent' });
  assert.equal(calls.open + alone.calls.open, 0);
});

test('bounds pending calls and rejects further ones at once', async () => {
  const { calls, sent } = calling();
  const open = Array.from({ length: 1_000 }, () => calls.call(request(start, 'u', 50)));
  assert.deepEqual(await calls.call(request(start)), { kind: 'silent', why: 'busy' });
  const elsewhere = calls.call({ ...request(start), node: 'm' });
  calls.answered('m', answerTo(sent.at(-1)?.id ?? ''));
  assert.deepEqual(await elsewhere, accepted);
  for (const outcome of await Promise.all(open)) assert.equal(outcome.kind, 'silent');
  assert.equal(calls.open, 0);
});

test('shares concurrent status queries of one server, but never instructions', async () => {
  const { calls, sent } = calling();
  const looks = [
    calls.call(request({ kind: 'look' })),
    calls.call(request({ kind: 'look' })),
    calls.call(request({ kind: 'look' }, 'v')),
  ];
  const orders = [calls.call(request(start)), calls.call(request(start))];
  assert.equal(sent.length, 4);
  for (const { id } of sent) calls.answered('n', answerTo(id));
  await Promise.all([...looks, ...orders]);
  const next = calls.call(request({ kind: 'look' }));
  assert.equal(sent.length, 5);
  calls.answered('n', answerTo(sent[4]?.id ?? ''));
  assert.deepEqual(await next, accepted);
});
