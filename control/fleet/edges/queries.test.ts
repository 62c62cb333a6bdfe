import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LiveVerdict, Question } from '@portcullis/link/messages/edge.ts';
import type { Notice } from '@portcullis/link/messages/messages.ts';
import { EdgeQueries } from './queries.ts';

const PACKET = {
  family: 4,
  source: '198.51.100.7',
  destination: '203.0.113.10',
  protocol: 17,
  sourcePort: 1,
  destinationPort: 53,
  icmp: null,
  hopLimit: 64,
  fragment: 'none',
} as const;

const answer = (generation: number): LiveVerdict => ({
  mode: 'enforce',
  generation,
  verdict: { action: 'pass', stage: 'default', ref: null, observed: [] },
  explanation: 'It passes.',
  target: null,
  fingerprint: null,
  kernel: 'unknown',
});

function asking(withinMs: number) {
  const questions = new EdgeQueries(withinMs);
  const requested: Question[] = [];
  questions.attachLink({
    notify: (notice: Notice) => {
      if (notice.kind === 'question') requested.push(notice);
      return 1;
    },
  });
  const say = (edge: string, generation: number, id = requested.at(-1)?.id ?? ''): void =>
    questions.receiveAnswer(edge, {
      kind: 'edge.answer',
      instance: 'one',
      id,
      answer: answer(generation),
    });
  return { questions, requested, say };
}

test('returns when every edge has answered, and ignores edges that were not asked', async () => {
  const { questions, requested, say } = asking(60_000);
  const answered = questions.query(['fra1', 'ams1'], PACKET);
  assert.deepEqual(requested[0]?.edges, ['fra1', 'ams1']);
  say('par1', 9);
  say('fra1', 3);
  say('ams1', 4, 'another question');
  say('ams1', 5);
  const answers = [...(await answered)].map(([name, { generation }]) => [name, generation]);
  assert.deepEqual(answers, [
    ['fra1', 3],
    ['ams1', 5],
  ]);
  // Late answers are ignored.
  say('fra1', 7);
});

test('waits for a silent edge until the timeout', async () => {
  const { questions, say } = asking(30);
  const answered = questions.query(['fra1', 'away'], PACKET);
  say('fra1', 3);
  assert.deepEqual([...(await answered).keys()], ['fra1']);
});

test('returns at once without edges or without a link', async () => {
  const { questions, requested } = asking(60_000);
  assert.equal((await questions.query([], PACKET)).size, 0);
  assert.equal((await new EdgeQueries(60_000).query(['fra1'], PACKET)).size, 0);
  assert.deepEqual(requested, []);
});
