import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { qrMatrix } from './matrix.ts';

/** Both were read by another implementation (jsqr 1.4.0), and are module for module those of qrcode-generator 2.0.4. */
const ONE_LETTER = `
#######..#....#######
#.....#...###.#.....#
#.###.#.#.#...#.###.#
#.###.#.####..#.###.#
#.###.#.#.#.#.#.###.#
#.....#.#.##..#.....#
#######.#.#.#.#######
........#.#..........
#.#####..#.#..#####..
###.##..##.####..#...
.#...####.#.#.##.....
...#.#..#######..#.##
.###..####..#..#..###
........#...#..#..#.#
#######..#.#.#..####.
#.....#.#.#....##.##.
#.###.#.#..#.#..###..
#.###.#.#.#####..#...
#.###.#.###.#.##.....
#.....#..#.####..#...
#######.#...#..#..##.`;
const LONG_SHA256 = 'b83922a33b29b1b55991c0fb1d945b02aab18fe6e83d1d8590a9b27c4142569a';

const draw = (text: string): string =>
  qrMatrix(text)
    .map((row) => row.map((dark) => (dark ? '#' : '.')).join(''))
    .join('\n');

test('draws the code that other implementations draw, of the smallest version and of one with many blocks', () => {
  assert.equal(draw('o'), ONE_LETTER.trim());
  const long = 'otpauth://totp/abc?secret=XYZ'.repeat(11).slice(0, 300);
  assert.equal(createHash('sha256').update(draw(long)).digest('hex'), LONG_SHA256);
});

test('grows with the text, and refuses what fits no version', () => {
  assert.equal(qrMatrix('x'.repeat(120)).length, 7 * 4 + 17);
  assert.equal(qrMatrix('x'.repeat(2_300)).length, 40 * 4 + 17);
  assert.throws(() => qrMatrix('x'.repeat(2_400)), RangeError);
});
