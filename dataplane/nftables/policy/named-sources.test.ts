import { EMPTY_POLICY } from '@portcullis/core/firewall/policy.ts';
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BITS, type Family } from '@portcullis/core/net/address.ts';
import { networkOf } from '@portcullis/core/net/cidr.ts';
import fc from 'fast-check';
import { edgeRules } from '../../testing/policies.ts';
import { compilePolicy } from './compile.ts';
import { type Layout, planLayout } from '../table/layout.ts';
import { isNamed, NAMED_SOURCES, sourceKeys } from './named-sources.ts';
import { renderDelta, renderWhole } from '../table/render.ts';

const FIRST_BIT = { 4: 0, 6: 32 } as const;

/** The field of an address as read and masked by the kernel. */
function fieldOf(family: Family, value: bigint): number {
  return Number((value >> BigInt(BITS[family] - FIRST_BIT[family] - 16)) & 0xfff8n);
}

describe('the coarse set of named sources', () => {
  it('contains the key of every address in its networks', () => {
    const drawn = fc.constantFrom<Family>(4, 6).chain((family) =>
      fc.record({
        family: fc.constant(family),
        length: fc.integer({ min: 0, max: BITS[family] }),
        value: fc.bigInt({ min: 0n, max: (1n << BigInt(BITS[family])) - 1n }),
        inside: fc.bigInt({ min: 0n, max: (1n << BigInt(BITS[family])) - 1n }),
      }),
    );
    fc.assert(
      fc.property(drawn, ({ family, length, value, inside }) => {
        const network = networkOf({ family, value }, length);
        const keys = sourceKeys({ ...network, length });
        const host = (1n << BigInt(BITS[family] - length)) - 1n;
        const member = network.value | (inside & host);
        assert.equal(keys.includes(fieldOf(family, member)), isNamed(family, length));
        assert.ok(keys.length <= 256 && new Set(keys).size === keys.length);
      }),
    );
  });

  it('leaves other blocks out', () => {
    const keys = sourceKeys({ family: 4, value: 0xcb_00_71_00n, length: 24 });
    assert.deepEqual(keys, [0xcb00]);
    const of6 = sourceKeys({ family: 6, value: 0x2001_0db8_00cf_0000n << 64n, length: 48 });
    assert.deepEqual(of6, [0x00c8]);
  });
});

const SOURCE = '198.51.100.7';
const NEIGHBOUR = '198.51.100.8';
/** Where both are: the first thirteen bits of 198.51. */
const BLOCK = 0xc6_30;

/** Hosts that allow one source each, and deny all others. */
function layoutOf(sources: Readonly<Record<string, string>>, before: Layout | null): Layout {
  const targets = Object.entries(sources).map(([target, source]) => {
    const rules = [
      { ref: 'a', action: 'allow', protocol: 'any', port: null, source },
      { ref: 'b', action: 'deny', protocol: 'any', port: null, source: null },
    ] as const;
    const policy = { target, ...EMPTY_POLICY, rules };
    return [target, compilePolicy(policy)] as const;
  });
  return planLayout(edgeRules(), new Map(targets), { version: '1', sets: {} }, before);
}

function changesOfSet(before: Layout, after: Layout): string[] {
  const targets = [...before.targets.keys(), ...after.targets.keys()];
  const delta = renderDelta(before, after, new Set(targets), renderWhole(before).sizes);
  assert.ok(delta);
  return delta.text.split('\n').filter((line) => line.includes(` ${NAMED_SOURCES[4]} `));
}

describe('a source named by several addresses', () => {
  it('stays in the set until no address names it', () => {
    const none = layoutOf({}, null);
    const one = layoutOf({ '203.0.113.1': SOURCE }, none);
    const two = layoutOf({ '203.0.113.1': SOURCE, '203.0.113.2': NEIGHBOUR }, one);
    const other = layoutOf({ '203.0.113.2': NEIGHBOUR }, two);
    const set = `element inet portcullis ${NAMED_SOURCES[4]} { ${BLOCK} }`;
    assert.deepEqual(changesOfSet(none, one), [`add ${set}`]);
    assert.deepEqual(changesOfSet(one, two), []);
    assert.deepEqual(changesOfSet(two, other), []);
    assert.deepEqual(changesOfSet(other, layoutOf({}, other)), [`delete ${set}`]);
    assert.match(renderWhole(other).text, new RegExp(`${NAMED_SOURCES[4]} \\{\\n\\t${BLOCK}\\n`));
  });
});
