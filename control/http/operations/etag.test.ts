import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entityTag, gzipTag, namesTag, sameState } from './etag.ts';

test('changes the tag with every byte of the representation', () => {
  assert.equal(entityTag('{"a":1}'), entityTag('{"a":1}'));
  assert.notEqual(entityTag('{"a":1}'), entityTag('{"a":2}'));
  assert.match(entityTag(''), /^"[A-Za-z0-9_-]{27}"$/);
});

test('compares If-Match with the state and If-None-Match with the whole representation', () => {
  const before = entityTag('pending', 'rules');
  const after = entityTag('live', 'rules');
  assert.notEqual(before, after);
  assert.equal(sameState(before, 'rules'), true);
  assert.equal(sameState(after, 'rules'), true);
  assert.equal(sameState(before, 'other rules'), false);
  assert.equal(namesTag(before, after), false);
});

test('accepts lists and stars; weak tags never match strongly, and invalid ones match nothing', () => {
  const tag = entityTag('x');
  assert.equal(namesTag(`"other", W/${tag}`, tag), true);
  assert.equal(namesTag('*', tag), true);
  assert.equal(namesTag(tag.slice(1, -1), tag), false);
  assert.equal(sameState('*', 'x'), true);
  assert.equal(sameState(`W/${tag}`, 'x'), false);
  assert.equal(sameState(`"a", ${tag}`, 'x'), true);
  assert.equal(sameState('', 'x'), false);
});

test('a compressed representation has its own tag, which If-None-Match accepts for both', () => {
  const tag = entityTag('x');
  assert.notEqual(gzipTag(tag), tag);
  assert.equal(namesTag(gzipTag(tag), tag), true);
});
