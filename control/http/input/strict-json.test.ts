import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MAX_DEPTH, parseStrictJson } from './strict-json.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const reasonOf = (input: Uint8Array) => {
  const parsed = parseStrictJson(input);
  assert.equal(parsed.ok, false);
  return parsed.ok ? '' : parsed.reason;
};

test('parses all output of JSON.stringify to an equal value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      const text = JSON.stringify(value);
      assert.deepEqual(parseStrictJson(bytes(text)), { ok: true, value: JSON.parse(text) });
    }),
  );
});

test('accepts exactly the texts that JSON.parse accepts, except repeated keys', () => {
  const pieces = [
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '"b"',
    '1',
    '-0.5e+3',
    '01',
    'true',
    'nul',
    ' ',
    '\\n',
    '"\\\\u12"',
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 8 }), (list) => {
      const text = list.join('');
      const parsed = parseStrictJson(bytes(text));
      if (parsed.ok) assert.deepEqual(parsed.value, JSON.parse(text));
      else if (!parsed.reason.includes('twice')) assert.throws(() => JSON.parse(text));
    }),
    { numRuns: 3000 },
  );
});

test('never throws for arbitrary bytes', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (input) => void parseStrictJson(input)));
});

test('reports the position of a mistake without quoting the input', () => {
  assert.equal(
    reasonOf(bytes('{"a": tru}')),
    'The body is not JSON: unexpected content at position 6.',
  );
  assert.equal(
    reasonOf(bytes('{"a": ')),
    'The body is not JSON: it ends too early, at position 6.',
  );
  assert.equal(reasonOf(bytes('hello')), 'The body is not JSON: unexpected content at position 0.');
  assert.equal(reasonOf(bytes('{}{}')), 'The body is not JSON: unexpected content at position 2.');
});

test('rejects an empty body, a byte order mark and invalid UTF-8, each by name', () => {
  assert.match(reasonOf(new Uint8Array()), /empty/);
  assert.match(reasonOf(bytes('\ufeff{}')), /byte order mark/);
  assert.match(reasonOf(Uint8Array.of(0x22, 0xff, 0x22)), /UTF-8/);
  assert.match(reasonOf(Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22)), /UTF-8/);
});

test('names a repeated key, also if one of the two is written with escapes', () => {
  assert.match(reasonOf(bytes('{"action":"allow","action":"deny"}')), /"action" stands twice.* 18/);
  assert.match(reasonOf(bytes('{"a":1,"\\u0061" : 2}')), /"a" stands twice/);
  assert.match(reasonOf(bytes('[{"x":{"k":1,"k":2}}]')), /"k" stands twice/);
  assert.match(reasonOf(bytes('{"__proto__":1,"__proto__":2}')), /"__proto__" stands twice/);
});

test('accepts the same key in different objects and as a value', () => {
  assert.equal(parseStrictJson(bytes('{"a":{"a":"a"},"b":["a","a"]}')).ok, true);
});

test('treats __proto__ as an ordinary own key', () => {
  const parsed = parseStrictJson(bytes('{"__proto__":{"polluted":true}}'));
  assert.ok(parsed.ok && typeof parsed.value === 'object' && parsed.value !== null);
  assert.deepEqual(Object.keys(parsed.value), ['__proto__']);
  assert.equal(Reflect.get({}, 'polluted'), undefined);
});

test('accepts the deepest allowed nesting and rejects one level more', () => {
  const nest = (depth: number) => bytes('['.repeat(depth) + ']'.repeat(depth));
  assert.equal(parseStrictJson(nest(MAX_DEPTH)).ok, true);
  assert.match(reasonOf(nest(MAX_DEPTH + 1)), /deeper than 32 levels at position 32/);
  assert.match(reasonOf(bytes('['.repeat(200_000))), /deeper/);
  assert.equal(parseStrictJson(bytes(`["${'['.repeat(100)}"]`)).ok, true);
});
