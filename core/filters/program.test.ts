import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Filter, Signature } from './filter.ts';
import { combineFilters } from './program.ts';

const signature: fc.Arbitrary<Signature> = fc.constantFrom('ff', '00', 'a5').map((hex) => ({
  bytes: [{ offset: 0, hex }],
  minLength: 1,
  maxLength: 9,
}));
const filter: fc.Arbitrary<Filter> = fc.record({
  type: fc.constantFrom('a', 'b', 'c'),
  name: fc.constant(''),
  category: fc.constant('games' as const),
  transport: fc.constant('udp' as const),
  description: fc.constant(''),
  greetings: fc.array(signature, { maxLength: 2 }),
  replies: fc.array(signature, { maxLength: 2 }),
  rates: fc.record({ unvalidatedPps: fc.nat(50), validatedPps: fc.nat(5000) }),
  budgetPps: fc.nat(500),
  validatedSeconds: fc.integer({ min: 1, max: 600 }),
  synProxy: fc.boolean(),
  connections: fc.option(fc.record({ perSecond: fc.nat(50), concurrent: fc.nat(500) })),
});
const filters = fc.array(filter, { minLength: 1, maxLength: 4 });

test('applies every limit and SYN proxy among the filters of a port', () => {
  fc.assert(
    fc.property(filters, (some) => {
      const program = combineFilters(some);
      for (const one of some) {
        assert.ok(program.unvalidatedPps <= one.rates.unvalidatedPps);
        assert.ok(program.validatedPps <= one.rates.validatedPps);
        assert.ok(program.budgetPps <= one.budgetPps);
        assert.ok(program.validatedSeconds <= one.validatedSeconds);
        assert.ok(program.synProxy || !one.synProxy);
        if (one.connections === null) continue;
        assert.ok(program.connections !== null);
        assert.ok(program.connections.perSecond <= one.connections.perSecond);
        assert.ok(program.connections.concurrent <= one.connections.concurrent);
      }
    }),
  );
});

test('accepts the greetings of all filters of a port, each once; filters without greetings change nothing', () => {
  fc.assert(
    fc.property(filters, (some) => {
      const known = (list: readonly Signature[]): string[] =>
        [...new Set(list.map((one) => JSON.stringify(one)))].toSorted();
      for (const kind of ['greetings', 'replies'] as const) {
        const together = combineFilters(some)[kind].map((one) => JSON.stringify(one));
        assert.deepEqual(together, known(some.flatMap((one) => one[kind])));
      }
    }),
  );
});

test('ignores the order and duplicates of filters', () => {
  fc.assert(
    fc.property(filters, (some) => {
      const program = JSON.stringify(combineFilters(some));
      assert.equal(JSON.stringify(combineFilters([...some, ...some].toReversed())), program);
    }),
  );
});
