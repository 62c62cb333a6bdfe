import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { processorClock } from '../testing/processor-clock.ts';
import { countPorts, expandPorts, parsePortExpression, type PortRange } from './ports.ts';
import { readVectors, splitQuoted } from './testing/vectors.ts';

const anyPort = fc.oneof(fc.integer({ min: 1, max: 65_535 }), fc.integer({ min: 1, max: 40 }));
const items = fc.array(fc.tuple(anyPort, fc.nat(60), fc.boolean(), fc.nat(2)), {
  minLength: 1,
  maxLength: 20,
});

describe('parsePortExpression', () => {
  for (const line of readVectors('ports-valid')) {
    const { input, rest } = splitQuoted(line);
    it(`reads ${JSON.stringify(input)} as ${rest}`, () => {
      const ranges = parsePortExpression(input);
      assert.ok(ranges.ok);
      assert.equal(`${countPorts(ranges.value)} ${format(ranges.value).join(' ')}`, rest);
    });
  }

  for (const line of readVectors('ports-invalid')) {
    const { input, rest } = splitQuoted(line);
    it(`rejects ${JSON.stringify(input)} with "${rest}"`, () => {
      const ranges = parsePortExpression(input);
      assert.ok(!ranges.ok);
      assert.ok(ranges.reason.includes(rest), ranges.reason);
    });
  }

  it('is the set of its ports in any order; repeated or overlapping ports count once', () => {
    fc.assert(
      fc.property(items, (list) => {
        const expected = new Set<number>();
        const text = list.map(([low, span, single, spaces]) => {
          const high = single ? low : Math.min(low + span, 65_535);
          for (let port = low; port <= high; port++) expected.add(port);
          const item = single ? String(low) : `${low}-${high}`;
          return ' '.repeat(spaces) + item + ' '.repeat(spaces);
        });
        const ranges = parsePortExpression(text.join(','));
        assert.ok(ranges.ok);
        assert.deepEqual(
          expandPorts(ranges.value),
          [...expected].toSorted((a, b) => a - b),
        );
        assert.equal(countPorts(ranges.value), expected.size);
      }),
    );
  });

  it('returns sorted, separate ranges, which parse back to themselves', () => {
    fc.assert(
      fc.property(items, (list) => {
        const text = list.map(([low, span]) => `${low}-${Math.min(low + span, 65_535)}`).join(',');
        const ranges = parsePortExpression(text);
        assert.ok(ranges.ok);
        for (const [index, range] of ranges.value.entries()) {
          assert.ok(range.low <= range.high);
          const next = ranges.value[index + 1];
          assert.ok(next === undefined || next.low > range.high + 1);
        }
        assert.deepEqual(parsePortExpression(format(ranges.value).join(',')), ranges);
      }),
    );
  });

  it('never throws and never quotes a control character, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const ranges = parsePortExpression(text);
        assert.ok(ranges.ok || /^[\x20-\x7e]*$/.test(ranges.reason), text);
      }),
    );
  });

  it('counts wide ranges without expanding them, and parses hostile lists in bounded time', () => {
    const tookMs = processorClock();
    const widest = parsePortExpression(Array(8000).fill('1-65535').join(','));
    assert.ok(widest.ok);
    assert.deepEqual(widest.value, [{ low: 1, high: 65_535 }]);
    assert.equal(countPorts(widest.value), 65_535);
    const many = Array.from({ length: 10_000 }, (_, index) => 2 * (index + 1)).join(',');
    const scattered = parsePortExpression(many);
    assert.ok(scattered.ok && countPorts(scattered.value) === 10_000);
    assert.ok(!parsePortExpression(','.repeat(10_000)).ok);
    assert.ok(!parsePortExpression('80,'.repeat(10_000)).ok);
    assert.ok(!parsePortExpression(`80${' '.repeat(60_000)}x`).ok);
    assert.ok(!parsePortExpression('1'.repeat(60_000)).ok);
    assert.ok(tookMs() < 5000);
  });

  it('rejects a text above the length limit without parsing it', () => {
    const long = parsePortExpression('80,'.repeat(1e6) + '80');
    assert.ok(!long.ok);
    assert.match(long.reason, /at most 65536 characters/);
  });
});

function format(ranges: readonly PortRange[]): string[] {
  return ranges.map(({ low, high }) => (low === high ? String(low) : `${low}-${high}`));
}
