import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { processorClock } from '../testing/processor-clock.ts';
import { canonicalAddress, formatAddress, parseAddress } from './address.ts';
import { anyAddress, anyFamily } from './testing/arbitraries.ts';
import { readVectors, splitQuoted } from './testing/vectors.ts';

describe('parseAddress', () => {
  for (const line of readVectors('address-valid')) {
    const [text = '', canonical] = line.split(' ');
    it(`reads ${text} as ${canonical}`, () => {
      assert.equal(canonicalAddress(text), canonical);
      assert.equal(canonicalAddress(canonical ?? ''), canonical, 'the canonical form is stable');
    });
  }

  for (const line of readVectors('address-invalid')) {
    const { input, rest } = splitQuoted(line);
    it(`rejects ${JSON.stringify(input)} with "${rest}"`, () => {
      const address = parseAddress(input);
      assert.ok(!address.ok);
      assert.ok(address.reason.includes(rest), address.reason);
      assert.equal(canonicalAddress(input), null);
    });
  }

  it('parses its own output', () => {
    fc.assert(
      fc.property(anyFamily.chain(anyAddress), (address) => {
        assert.deepEqual(parseAddress(formatAddress(address)), { ok: true, value: address });
      }),
    );
  });

  it('accepts exactly what the platform accepts, except mapped addresses and zones', () => {
    const characters = fc.constantFrom(...'0123456789afAF:.%x '.split(''));
    const texts = fc.string({ unit: characters, maxLength: 24 });
    const near = fc
      .tuple(anyFamily.chain(anyAddress), fc.nat(40), characters)
      .map(([address, at, other]) => {
        const text = formatAddress(address);
        return text.slice(0, at) + other + text.slice(at + 1);
      });
    fc.assert(
      fc.property(fc.oneof(texts, near), (text) => {
        const address = parseAddress(text);
        if (address.ok) assert.equal(isIP(text), address.value.family);
        else if (isIP(text) !== 0) assert.match(address.reason, /zone|IPv4-mapped/);
      }),
      { numRuns: 500 },
    );
  });

  it('writes IPv6 addresses like the URL standard', () => {
    fc.assert(
      fc.property(anyAddress(6), (address) => {
        const text = formatAddress(address);
        assert.equal(new URL(`http://[${text}]/`).hostname, `[${text}]`);
      }),
    );
  });

  it('never quotes a control character of its input', () => {
    const texts = fc.string({
      unit: fc.constantFrom('0', '1', '.', ':', '\u0000', '\n', '\u001b'),
    });
    fc.assert(
      fc.property(texts, (text) => {
        const address = parseAddress(text);
        assert.ok(address.ok || /^[\x20-\x7e]*$/.test(address.reason));
      }),
    );
    const address = parseAddress('01.\u001b.1.1');
    assert.ok(!address.ok && !address.reason.includes('\u001b'));
  });

  it('takes bounded time for hostile input', () => {
    const tookMs = processorClock();
    for (const unit of ['0', ':', '.', '1.', '::', '%', '\u0000']) parseAddress(unit.repeat(1e6));
    assert.ok(tookMs() < 5000);
  });
});
