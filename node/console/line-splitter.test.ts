import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { LineSplitter, MAX_LINE_BYTES } from './line-splitter.ts';

interface Line {
  readonly text: string;
  readonly overwritten: boolean;
}

describe('the line splitter', () => {
  it('returns the same lines for any split of the stream', () => {
    const piece = fc.oneof(
      fc.constantFrom('\n', '\r', '\r\n', '\r\r\n', '', '\0', '\x1b[0m', '🎮', 'ä€', 'Done'),
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.integer({ min: 1, max: 40_000 }).map((length) => '€x'.repeat(length / 2)),
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 12 }),
        fc.array(fc.integer({ min: 1, max: 9000 }), { minLength: 1, maxLength: 30 }),
        (pieces, sizes) => {
          const bytes = Buffer.from(pieces.join(''), 'utf8');
          assert.deepEqual(linesOf(cut(bytes, sizes)), linesOf([bytes]));
        },
      ),
      { numRuns: 300 },
    );
  });

  it('equals a split at line ends without carriage returns and long lines', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 60 })), (texts) => {
        const lines = texts.map((text) => text.replaceAll(/[\r\n]/g, ' '));
        const stream = Buffer.from(lines.map((line) => `${line}\n`).join(''));
        assert.deepEqual(
          linesOf(cut(stream, [1, 2, 3])).map(({ text }) => text),
          lines,
        );
      }),
    );
  });

  it('treats LF, CR LF and CR CR LF as one line end each, also in separate chunks', () => {
    const chunks = ['a\n', 'b\r', '\n', 'c\r', '\r', '\nd\n', '\n', '\r\n'].map((one) =>
      Buffer.from(one),
    );
    assert.deepEqual(linesOf(chunks), [
      { text: 'a', overwritten: false },
      { text: 'b', overwritten: false },
      { text: 'c', overwritten: false },
      { text: 'd', overwritten: false },
      { text: '', overwritten: false },
      { text: '', overwritten: false },
    ]);
  });

  it('distinguishes text that a lone carriage return overwrites from the rest', () => {
    assert.deepEqual(linesOf([Buffer.from('10%\r20%\r30%\rdone\n> \r[INFO] joined\r\n')]), [
      { text: '10%', overwritten: true },
      { text: '20%', overwritten: true },
      { text: '30%', overwritten: true },
      { text: 'done', overwritten: false },
      { text: '> ', overwritten: true },
      { text: '[INFO] joined', overwritten: false },
    ]);
  });

  it('splits an endless line into pieces within the limit, and never splits a character', () => {
    const text = 'x€🎮'.repeat(20_000);
    const lines = linesOf(cut(Buffer.from(text), [4096, 1, 70_000]));
    assert.equal(lines.map((line) => line.text).join(''), text);
    for (const line of lines) assert.ok(Buffer.byteLength(line.text) <= MAX_LINE_BYTES);
    assert.ok(lines.length < 30);
  });

  it('continues after invalid UTF-8', () => {
    const bytes = Buffer.concat([Buffer.alloc(30_000, 0x80), Buffer.from('\nnext\n')]);
    assert.equal(linesOf([bytes]).at(-1)?.text, 'next');
  });
});

function linesOf(chunks: readonly Buffer[]): Line[] {
  const lines: Line[] = [];
  const splitter = new LineSplitter((bytes, overwritten) => {
    lines.push({ text: bytes.toString('utf8'), overwritten });
  });
  for (const chunk of chunks) splitter.push(chunk);
  splitter.end();
  return lines;
}

/** Splits into chunks of these sizes, repeatedly. */
function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}
