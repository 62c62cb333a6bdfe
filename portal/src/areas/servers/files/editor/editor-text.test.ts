import assert from 'node:assert/strict';
import { it } from 'node:test';
import { fileKind, imageType, languageOf } from './file-kind.ts';
import { lineEndingOf, withLineEnding, withoutReturns } from './line-endings.ts';

it('knows by its name how a file is shown', () => {
  assert.equal(fileKind('latest.log'), 'log');
  assert.equal(fileKind('server-icon.png'), 'image');
  assert.equal(fileKind('server.properties'), 'text');
  assert.equal(imageType('map.SVG'), 'image/svg+xml');
  assert.equal(languageOf('config.yml'), 'yaml');
  assert.equal(languageOf('server.properties'), 'properties');
  assert.equal(languageOf('LICENSE'), null);
});

it('keeps the line endings of a file', () => {
  const windows = 'a=1\r\nb=2\r\n';
  assert.equal(lineEndingOf(windows), '\r\n');
  assert.equal(withLineEnding(withoutReturns(windows), '\r\n'), windows);
  assert.equal(lineEndingOf('a\nb\n'), '\n');
  assert.equal(lineEndingOf(''), '\n');
});
