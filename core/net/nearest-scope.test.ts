import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { containsCidr, formatNetwork, networkOf, parseCidr, type Cidr } from './cidr.ts';
import { NearestScope } from './nearest-scope.ts';

/** Few bits differ, so that networks nest. */
const network = fc
  .tuple(fc.constantFrom(4 as const, 6 as const), fc.nat(255), fc.nat(8))
  .map(([family, host, short]): Cidr => {
    const base = family === 4 ? 0xcb007100n : 0x20010db8n << 96n;
    return networkOf({ family, value: base + BigInt(host) }, (family === 4 ? 32 : 128) - short);
  });

test('finds the longest scope that contains the subject', () => {
  fc.assert(
    fc.property(fc.array(network), fc.array(network, { minLength: 1 }), (scopes, subjects) => {
      const nearest = new NearestScope(scopes.map((one) => [formatNetwork(one), one] as const));
      for (const subject of [...subjects, ...subjects]) {
        const around = scopes.filter((scope) => containsCidr(scope, subject));
        const longest = around.toSorted((a, b) => b.length - a.length)[0];
        const found = nearest.of(formatNetwork(subject));
        assert.equal(found && formatNetwork(found), longest ? formatNetwork(longest) : null);
      }
    }),
  );
});

test('finds what is set and deleted later, and nothing that was', () => {
  const nearest = new NearestScope([['203.0.113.0/24', 1]]);
  assert.equal(nearest.of('203.0.113.9'), 1);
  nearest.set('203.0.113.9', 2);
  assert.equal(nearest.of('203.0.113.9'), 2);
  nearest.delete('203.0.113.9/32');
  assert.equal(nearest.of('203.0.113.9'), 1);
  nearest.delete('203.0.113.0/24');
  assert.equal(nearest.of('203.0.113.9'), null);
});

test('ignores entries that are no networks', () => {
  const nearest = new NearestScope([
    ['203.0.113.0/24', 1],
    ['everything', 2],
  ]);
  assert.equal(nearest.of('203.0.113.9'), 1);
  assert.equal(nearest.of('203.0.112.0/23'), null);
  assert.equal(nearest.of('everything'), null);
  assert.equal(parseCidr('everything').ok, false);
});
