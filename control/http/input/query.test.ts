import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { queryValidator } from './query.ts';

const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  properties: {
    ongoing: { type: 'boolean' },
    page: { type: 'integer', minimum: 1 },
    ratio: { type: 'number' },
    from: { type: 'string', maxLength: 30 },
  },
};
const evaluate = queryValidator(SCHEMA);

test('converts parameters strictly to their types', () => {
  const good: [string, object][] = [
    ['', {}],
    ['ongoing=true&page=12', { ongoing: true, page: 12 }],
    ['ongoing=1', { ongoing: true }],
    ['ongoing=0', { ongoing: false }],
    ['ratio=-0.5', { ratio: -0.5 }],
    ['&page=1&', { page: 1 }],
    ['from=2026-11-21T02:00:00+00:00', { from: '2026-11-21T02:00:00 00:00' }],
    ['from=2026-11-21T02%3A00%3A00%2B00:00', { from: '2026-11-21T02:00:00+00:00' }],
    ['%66rom=x', { from: 'x' }],
  ];
  for (const [query, value] of good) assert.deepEqual(evaluate(query), { ok: true, value });
  const bad = [
    'ongoing=yes',
    'ongoing=TRUE',
    'ongoing',
    'page=1.0',
    'page=+1',
    'page=0x1',
    'page=1e3',
    'page=',
    'page=0',
    'page=99999999999999999999',
    'ratio=NaN',
    'ratio=Infinity',
    'from=%ff',
    'from=%',
    'from=%ed%a0%80',
    'from=a%0Ab',
    'page=1&page=1',
    'page[]=1',
    'constructor=1',
    '__proto__=1',
    'toString=1',
    `from=${'a'.repeat(31)}`,
  ];
  for (const query of bad) {
    const evaluated = evaluate(query);
    assert.equal(evaluated.ok, false, query);
    assert.equal(evaluated.ok ? 0 : evaluated.errors.length, 1, query);
  }
});

test('validates any query string without throwing, with at most twenty errors', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (query) => {
      const evaluated = evaluate(query);
      assert.ok(evaluated.ok || (evaluated.errors.length > 0 && evaluated.errors.length <= 20));
    }),
  );
  const many = evaluate(Array.from({ length: 5000 }, (_, index) => `x${index}=1`).join('&'));
  assert.equal(many.ok ? 0 : many.errors.length, 20);
});

test('accepts an offset whose plus became a space, and no other space', () => {
  const from = { type: 'string', format: 'date-time' } as const;
  const read = queryValidator({ type: 'object', properties: { from } } as object);
  for (const query of [
    'from=2026-11-21T02:00:00+01:00',
    'from=2026-11-21T02:00:00%2B01:00',
    'from=2026-11-21T02:00:00%2001:00',
  ])
    assert.deepEqual(read(query), { ok: true, value: { from: '2026-11-21T02:00:00+01:00' } });
  for (const query of [
    'from=2026-11-21T02:00:00Z[UTC]',
    'from=2026-11-21T02:00:00',
    'from=2026-11-21T02:00 00:00',
    'from=+01:00',
  ])
    assert.equal(read(query).ok, false, query);
});
