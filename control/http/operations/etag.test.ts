import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contentTag, gzipTag, namesTag, sameState, stateTag, weakTag } from './etag.ts';

test('changes the tag with every byte of the representation', () => {
  assert.equal(contentTag('{"a":1}'), contentTag('{"a":1}'));
  assert.notEqual(contentTag('{"a":1}'), contentTag('{"a":2}'));
  assert.match(contentTag(''), /^"[A-Za-z0-9_-]{27}"$/);
});

test('compares If-Match with the state and If-None-Match with the whole representation', () => {
  const before = stateTag('rules', 'pending');
  const after = stateTag('rules', 'live');
  assert.notEqual(before, after);
  assert.equal(sameState(before, 'rules'), true);
  assert.equal(sameState(after, 'rules'), true);
  assert.equal(sameState(before, 'other rules'), false);
  assert.equal(namesTag(before, after), false);
});

test('accepts lists and stars; weak tags never match strongly, and invalid ones match nothing', () => {
  const tag = contentTag('x');
  assert.equal(namesTag(`"other", W/${tag}`, tag), true);
  assert.equal(namesTag('*', tag), true);
  assert.equal(namesTag(tag.slice(1, -1), tag), false);
  assert.equal(sameState('*', 'x'), true);
  assert.equal(sameState(`W/${tag}`, 'x'), false);
  assert.equal(sameState(`"a", ${tag}`, 'x'), true);
  assert.equal(sameState('', 'x'), false);
});

test('a weak tag is that of the compressed representation too, and never allows a write', () => {
  const tag = weakTag('said');
  assert.match(tag, /^W\/"[A-Za-z0-9_-]{27}"$/);
  assert.notEqual(weakTag('other'), tag);
  assert.equal(gzipTag(tag), tag);
  assert.equal(namesTag(tag, tag), true);
  assert.equal(namesTag(tag.slice(2), tag), true);
  assert.equal(sameState(tag, 'said'), false);
});
