import assert from 'node:assert/strict';
import fc from 'fast-check';
import { describe, it } from 'node:test';
import { processorClock } from '../testing/processor-clock.ts';
import { colouredText, plainText } from './console-text.ts';

const ESC = '\x1b';

describe('a line of a console', () => {
  it('keeps colours and weights of the text', () => {
    for (const line of [
      `${ESC}[31mred${ESC}[0m`,
      `${ESC}[1;38;5;208morange${ESC}[39;49m`,
      `${ESC}[48;2;10;20;30m${ESC}[97mwhite on blue${ESC}[22m`,
    ]) {
      assert.equal(colouredText(line), line);
    }
    assert.equal(colouredText(`${ESC}[mreset`), `${ESC}[0mreset`);
    assert.equal(plainText(`${ESC}[1;31mwarn${ESC}[0m`), 'warn');
  });

  it('removes every other sequence', () => {
    const hostile = {
      title: `${ESC}]0;owned\x07`,
      'title, unterminated': `${ESC}]2;owned`,
      'link to another place': `${ESC}]8;;https://evil.example\x07`,
      clipboard: `${ESC}]52;c;cm0gLXJm\x07`,
      'cursor up and over': `${ESC}[9A${ESC}[2K`,
      'clear the screen': `${ESC}[2J${ESC}[3J${ESC}[H`,
      'another screen': `${ESC}[?1049h`,
      'report the cursor': `${ESC}[6n`,
      'report the terminal': `${ESC}[c`,
      'a report as a string': `${ESC}P$q"p${ESC}\\`,
      'whole reset': `${ESC}c`,
      'mouse on': `${ESC}[?1003h`,
      'hidden text': `${ESC}[8m`,
      'blinking text': `${ESC}[5m`,
      '8-bit sequence': '\x9b31m',
      'text from right to left': '\u202e',
      'carriage return': '\r',
      bell: '\x07',
      'cut colour': `${ESC}[38;5m`,
      'colour out of range': `${ESC}[38;5;999m`,
    };
    for (const [name, sequence] of Object.entries(hostile)) {
      assert.doesNotMatch(colouredText(`a${sequence}`), /[^a]/, name);
    }
    assert.equal(colouredText(`${ESC}[3${ESC}[31m1m`), `${ESC}[31m1m`, 'nested');
  });

  it('never has a control character outside of a colour, whatever the game wrote', () => {
    const piece = fc.oneof(
      fc.constantFrom(ESC, `${ESC}[`, `${ESC}]`, '\x9b', 'm', '31', ';', '\x07', '\x1b\\', '8'),
      fc.string({ unit: 'binary', maxLength: 6 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const line = pieces.join('');
        const coloured = colouredText(line);
        const rest = coloured.replaceAll(/\x1b\[\d+(?:;\d+)*m/g, '');
        assert.doesNotMatch(rest, /[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]/);
        assert.equal(colouredText(coloured), coloured);
        assert.equal(plainText(coloured), plainText(line));
      }),
      { numRuns: 2000 },
    );
  });

  it('is read in linear time', () => {
    for (const one of [
      `${ESC}[`,
      `${ESC}]`,
      `${ESC}[0;`,
      `${ESC}[ `,
      `${ESC}P${ESC}`,
      '\x9d\x9b',
    ]) {
      const tookMs = processorClock();
      colouredText(one.repeat(524_288 / one.length));
      assert.ok(tookMs() < 5000, JSON.stringify(one));
    }
  });
});
