import assert from 'node:assert/strict';
import { it } from 'node:test';
import { grown, tailOf } from './tail.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

it('shows whole lines of the end of a file, and what is appended to it', () => {
  const tail = tailOf({ bytes: bytes('f a line\nsecond\nthi'), offset: 100, size: 119 });
  assert.deepEqual(tail.lines, ['second']);
  const more = grown(tail, bytes('rd\r\n'));
  assert.deepEqual([...more.lines, more.open], ['second', 'third', '']);
  assert.equal(more.end, 123);
  assert.deepEqual(tailOf({ bytes: bytes('first\n'), offset: 0, size: 6 }).lines, ['first']);
});

it('does not cut a character in two', () => {
  const whole = bytes('grün\n');
  const tail = tailOf({ bytes: whole.subarray(0, 3), offset: 0, size: 3 });
  assert.deepEqual([tail.open, tail.end], ['gr', 2]);
  assert.deepEqual(grown(tail, whole.subarray(tail.end)).lines, ['grün']);
});

it('knows what is no text', () => {
  assert.ok(tailOf({ bytes: Uint8Array.of(80, 75, 0, 1), offset: 0, size: 4 }).isBinary);
  assert.ok(!tailOf({ bytes: bytes('text'), offset: 0, size: 4 }).isBinary);
});
