import assert from 'node:assert/strict';
import { test } from 'node:test';
import { availableFilters, DEFAULT_MANAGED_FILTERS, FILTERS, findFilter } from './catalogue.ts';
import type { Filter } from './filter.ts';

const filters: readonly Filter[] = FILTERS;

test('has a unique slug per filter that can precede a port in a key', () => {
  const types = filters.map((filter) => filter.type);
  assert.equal(new Set(types).size, types.length);
  for (const type of types) assert.match(type, /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/);
});

test('defines only filters that can be enforced: positive rates and times, whole bytes within the lengths', () => {
  for (const filter of filters) {
    const { unvalidatedPps, validatedPps } = filter.rates;
    assert.ok(0 < unvalidatedPps && unvalidatedPps <= validatedPps, filter.type);
    assert.ok(filter.validatedSeconds > 0, filter.type);
    assert.ok(filter.budgetPps >= unvalidatedPps, filter.type);
    assert.ok(filter.transport === 'tcp' || !(filter.synProxy || filter.connections), filter.type);
    // Only UDP payloads are matched: a TCP greeting would follow the handshake.
    const signatures = [...filter.greetings, ...filter.replies];
    assert.ok(filter.transport === 'udp' || signatures.length === 0, filter.type);
    for (const { bytes, minLength, maxLength } of signatures) {
      assert.ok(minLength <= maxLength, filter.type);
      for (const { offset, hex } of bytes) {
        assert.match(hex, /^(?:[0-9a-f]{2})+$/);
        assert.ok(offset >= 0 && offset + hex.length / 2 <= minLength, filter.type);
      }
    }
  }
});

test('finds only slugs of the catalogue and nothing of a prototype', () => {
  for (const filter of FILTERS) assert.equal(findFilter(filter.type), filter);
  for (const type of ['', 'UDP-STATEFUL', 'udp-stateful ', 'constructor', '__proto__'])
    assert.equal(findFilter(type), null, type);
});

test('removes only the filters that a service manages, by default the protocol filters', () => {
  assert.deepEqual([...DEFAULT_MANAGED_FILTERS].toSorted(), ['tcp-syn-proxy', 'udp-stateful']);
  for (const type of DEFAULT_MANAGED_FILTERS) {
    assert.equal(findFilter(type)?.category, 'protocols');
    assert.ok(!availableFilters(DEFAULT_MANAGED_FILTERS).some((filter) => filter.type === type));
    assert.equal(availableFilters([type]).length, FILTERS.length - 1);
  }
});
