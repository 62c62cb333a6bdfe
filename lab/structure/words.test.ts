import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { files, root } from './sources.ts';

/** First words by which a reader does not learn what the thing is. */
const REFUSED = /^\/\*\*[\s*]*(?:Of|By|As|What|Which|Those|Without)\b/;

test('every docstring begins with what the thing is', () => {
  const refused = files
    .filter((file) => !file.includes('/generated/'))
    .flatMap((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      return [...text.matchAll(/\/\*\*[\s\S]*?\*\//g)]
        .filter(([docstring]) => REFUSED.test(docstring))
        .map(({ 0: docstring, index }) => {
          const line = text.slice(0, index).split('\n').length;
          return `${file}:${line}: ${docstring.slice(0, 60)}`;
        });
    });
  assert.deepEqual(refused, []);
});
