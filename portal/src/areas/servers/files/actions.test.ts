import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FILE_RIGHTS } from '@portcullis/core/access/server-rights.ts';
import { type Entry, refusalOf } from './actions.ts';

const entry = (name: string, more: Partial<Entry> = {}): Entry => ({
  name,
  path: name,
  type: 'file',
  size: 1,
  modified_at: '2026-11-21T02:00:00+00:00',
  mode: '644',
  denied: false,
  content: null,
  ...more,
});

it('names the right that an action lacks, and nothing to those who have all', () => {
  assert.match(refusalOf('delete', ['file.read'], [entry('a')]) ?? '', /file\.delete/);
  assert.match(refusalOf('copy', ['file.read-content'], [entry('a')]) ?? '', /file\.create/);
  assert.equal(refusalOf('copy', FILE_RIGHTS, [entry('a')]), null);
});

it('says what is not possible with these files, whatever the rights are', () => {
  const refused = (...args: Parameters<typeof refusalOf>) => refusalOf(...args) !== null;
  assert.ok(refused('rename', FILE_RIGHTS, [entry('a'), entry('b')]));
  assert.ok(refused('delete', FILE_RIGHTS, [entry('a'), entry('secret', { denied: true })]));
  assert.ok(refused('download', FILE_RIGHTS, [entry('a', { type: 'link' })]));
  assert.ok(!refused('delete', FILE_RIGHTS, [entry('a', { type: 'link' })]));
  assert.ok(refused('mode', FILE_RIGHTS, [entry('a', { type: 'link' })]));
  assert.ok(refused('unpack', FILE_RIGHTS, [entry('notes.txt')]));
  assert.ok(refused('unpack', FILE_RIGHTS, [entry('maps.zip', { type: 'folder' })]));
  assert.ok(!refused('unpack', FILE_RIGHTS, [entry('world.tar.zst')]));
});
