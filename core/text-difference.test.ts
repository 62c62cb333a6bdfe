import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { differenceOfTexts } from './text-difference.ts';

const shown = (before: string, after: string): string =>
  differenceOfTexts(before, after)
    .map(({ sign, text }) => `${sign}${text}`)
    .join('\n');

test('a changed line stands between those around it, and far ones are left out', () => {
  const lines = Array.from({ length: 12 }, (_, index) => `line ${index}`);
  const after = lines.with(6, 'other');
  assert.equal(
    shown(lines.join('\n'), after.join('\n')),
    '…\n line 3\n line 4\n line 5\n-line 6\n+other\n line 7\n line 8\n line 9\n…',
  );
  assert.equal(shown('', 'one\ntwo'), '+one\n+two');
  assert.equal(shown('one', ''), '-one');
});

test('texts that are the same have no changed line', () => {
  assert.equal(shown('a\nb', 'a\nb').replaceAll('…', ''), '');
});

test('the lines that are removed, and those that are added, make the one text of the other', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', '{', '}'), { maxLength: 12 });
  fc.assert(
    fc.property(text, text, (before, after) => {
      const found = differenceOfTexts(before.join('\n'), after.join('\n'));
      const count = (lines: readonly string[]): string[] => lines.toSorted();
      const [was, is] = [before, after].map((lines) => (lines.length === 0 ? [] : lines));
      const removed = found.filter(({ sign }) => sign === '-').map((line) => line.text);
      const added = found.filter(({ sign }) => sign === '+').map((line) => line.text);
      assert.deepEqual(count([...(was ?? []), ...added]), count([...(is ?? []), ...removed]));
    }),
  );
});

test('two long texts without a common line are compared in a moment', () => {
  const one = Array.from({ length: 20_000 }, (_, index) => `a${index}`).join('\n');
  const other = Array.from({ length: 20_000 }, (_, index) => `b${index}`).join('\n');
  assert.equal(differenceOfTexts(one, other).length, 40_000);
});
