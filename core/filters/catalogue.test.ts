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
  for (const { type, udp, tcp, usualPorts } of filters) {
    assert.ok(udp !== null || tcp !== null, type);
    assert.ok(usualPorts.every((port) => 0 < port && port < 65_536));
    if (udp !== null) {
      const { unvalidatedPps, validatedPps } = udp.rates;
      assert.ok(0 < unvalidatedPps && unvalidatedPps <= validatedPps, type);
      assert.ok(udp.validatedSeconds > 0 && udp.budgetPps >= unvalidatedPps, type);
    }
    const { sourcePps, budgetPps } = udp?.roaming?.rates ?? { sourcePps: 1, budgetPps: 1 };
    assert.ok(0 < sourcePps && sourcePps <= budgetPps, type);
    const kinds = udp?.roaming?.kinds ?? [];
    const signatures = [
      ...(udp?.greetings ?? []),
      ...(udp?.replies ?? []),
      ...(udp?.data ?? []),
      ...kinds.flatMap(({ packets, replies }) => [...packets, ...replies]),
    ];
    for (const { minLength, maxLength, bytes } of signatures) {
      assert.ok(minLength <= maxLength, type);
      for (const { offset, hex } of bytes) assert.ok(offset + hex.length / 2 <= minLength, type);
    }
    for (const { offset, hex, mask } of [...signatures, ...(tcp?.openings ?? [])].flatMap(
      ({ bytes }) => bytes,
    )) {
      assert.match(hex, /^(?:[0-9a-f]{2})+$/);
      assert.ok(offset >= 0, type);
      if (mask === undefined) continue;
      assert.match(mask, /^(?:[0-9a-f]{2})+$/);
      // Otherwise nothing could fit.
      assert.equal(mask.length, hex.length);
      assert.equal(BigInt(`0x${hex}`) & BigInt(`0x${mask}`), BigInt(`0x${hex}`), type);
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
