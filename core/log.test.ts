import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeError } from './log.ts';

test('an error says each reason once, also where one wraps another with the same words', () => {
  const cause = new Error('The image is missing.');
  assert.equal(describeError(new Error(cause.message, { cause })), 'The image is missing.');
  const system = new Error('connect ENOENT');
  const unreachable = new Error('Docker does not answer', { cause: system });
  const wrapped = new Error(unreachable.message, { cause: unreachable });
  assert.equal(describeError(wrapped), 'Docker does not answer: connect ENOENT');
});
