import assert from 'node:assert/strict';
import { it } from 'node:test';
import { formatDuration } from './format.ts';

it('writes durations by their two largest units', () => {
  const written = [0.31, 1, 2.94, 61, 3600, 3_720, 90_000].map(formatDuration);
  assert.deepEqual(written, ['310 ms', '1 s', '2.9 s', '1 min 1 s', '1 h', '1 h 2 min', '1 d 1 h']);
});
