import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { splitArguments } from './arguments.ts';

describe('splitting a startup into arguments', () => {
  const cases: Readonly<Record<string, readonly string[] | null>> = {
    './game -p 1': ['./game', '-p', '1'],
    '  a\t b\r\n c ': ['a', 'b', 'c'],
    '': [],
    "a 'b c' d": ['a', 'b c', 'd'],
    'a "b c" d': ['a', 'b c', 'd'],
    'a"b"\'c\'d': ['abcd'],
    '"" \'\'': ['', ''],
    '"a\\"b\\\\c\\n"': ['a"b\\c\\n'],
    "'a\\b'": ['a\\b'],
    'a\\ b \\"': ['a b', '"'],
    // No shell syntax is interpreted.
    '$HOME `id` $(id) ; a && b | c > /x * ~ #no': [
      '$HOME',
      '`id`',
      '$(id)',
      ';',
      'a',
      '&&',
      'b',
      '|',
      'c',
      '>',
      '/x',
      '*',
      '~',
      '#no',
    ],
    '"open': null,
    "it's": null,
    'end\\': null,
  };
  for (const [line, wanted] of Object.entries(cases)) {
    it(`splits ${JSON.stringify(line)} into ${JSON.stringify(wanted)}`, () => {
      const split = splitArguments(line);
      assert.deepEqual(split.ok ? split.value : null, wanted);
    });
  }

  it('is bounded', () => {
    assert.equal(splitArguments('a '.repeat(1025)).ok, false);
    assert.equal(splitArguments('a '.repeat(1024)).ok, true);
  });

  it('restores every quoted text', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { maxLength: 8 }), (texts) => {
        const single = texts.map((text) => `'${text.replaceAll("'", `'\\''`)}'`).join(' ');
        const double = texts.map((text) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`).join('\t');
        assert.deepEqual(splitArguments(single), { ok: true, value: texts });
        assert.deepEqual(splitArguments(double), { ok: true, value: texts });
      }),
    );
  });

  it('never lets a value open a quote or become several arguments inside of quotes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        const split = splitArguments('a "{{X}}" \'{{X}}\' b', (part) =>
          part.replaceAll('{{X}}', () => value),
        );
        assert.deepEqual(split, { ok: true, value: ['a', value, value, 'b'] });
        const bare = splitArguments('a x{{X}} b', (part) => part.replaceAll('{{X}}', () => value));
        assert.ok(bare.ok);
        assert.deepEqual(bare.value[0], 'a');
        assert.deepEqual(bare.value.at(-1), 'b');
        assert.equal(bare.value.slice(1, -1).join(''), `x${value}`.replaceAll(/[ \t\r\n]/g, ''));
      }),
    );
  });
});
