import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  message,
  optionsTemplateSet,
  type Part,
  set,
  type Spec,
  templateSet,
} from '../testing/datagrams.ts';
import { addressBytes } from '../testing/datagrams.ts';
import { created, one, read, TARGET } from '../testing/decoded.ts';
import { SamplingRates } from './sampling-rates.ts';

const CONFIGURED = 7;

/** Each process of the test decodes one record of one packet, so that the packets are the rate. */
function rateOf(
  version: 9 | 10,
  options: readonly Buffer[],
  {
    specs = [],
    values = [],
  }: { readonly specs?: readonly Spec[]; readonly values?: readonly Part[] },
): number {
  const exporter = created(CONFIGURED);
  read(exporter, message(version, options));
  const template = templateSet(version, 300, [[12, 4], [2, 4], ...specs]);
  const data = set(300, addressBytes(TARGET), [1, 4], ...values);
  return one(read(exporter, message(version, [template, data]))).packets;
}

for (const version of [9, 10] as const) {
  const whole: Spec = version === 9 ? [1, 4] : [144, 4];
  const byInterface: Spec = version === 9 ? [2, 4] : [10, 4];
  const byCard: Spec = version === 9 ? [3, 4] : [141, 4];
  const sampler = (id: number, rate: number): Buffer[] => [
    optionsTemplateSet(
      version,
      400,
      [whole],
      [
        [48, 1],
        [50, 4],
      ],
    ),
    set(400, [0, 4], [id, 1], [rate, 4]),
  ];
  const scoped = (scope: Spec, id: number, rate: number): Buffer[] => [
    optionsTemplateSet(version, 401, [scope], [[34, 4]]),
    set(401, [id, 4], [rate, 4]),
  ];
  const named = (id: number) => ({ specs: [[48, 1]] as Spec[], values: [[id, 1]] as Part[] });
  const onInterface = (id: number) => ({ specs: [[10, 4]] as Spec[], values: [[id, 4]] as Part[] });

  describe(`the sampling rate of a record of ${version === 9 ? 'NetFlow 9' : 'IPFIX'}`, () => {
    it('is its own if a device can have it, else the one of its sampler', () => {
      const both = (rate: number) => ({
        specs: [
          [34, 4],
          [48, 1],
        ] as Spec[],
        values: [
          [rate, 4],
          [1, 1],
        ] as Part[],
      });
      assert.equal(rateOf(version, sampler(1, 1000), both(50)), 50);
      for (const impossible of [0, 0xffffffff]) {
        assert.equal(rateOf(version, sampler(1, 1000), both(impossible)), 1000);
      }
    });

    it('does not depend on which sampler was reported last', () => {
      for (const options of [
        [...sampler(1, 1000), ...sampler(2, 10)],
        [...sampler(2, 10), ...sampler(1, 1000)],
      ]) {
        assert.equal(rateOf(version, options, named(1)), 1000);
        assert.equal(rateOf(version, options, named(2)), 10);
        for (const record of [{}, named(0), named(3)]) {
          assert.equal(rateOf(version, options, record), CONFIGURED);
        }
      }
    });

    it("is the domain's own if the record names no sampler that is known", () => {
      for (const options of [
        [...scoped(whole, 1, 100), ...sampler(1, 1000)],
        [...sampler(1, 1000), ...scoped(whole, 1, 100)],
      ]) {
        for (const record of [{}, named(0), named(3)]) {
          assert.equal(rateOf(version, options, record), 100);
        }
        assert.equal(rateOf(version, options, named(1)), 1000);
      }
    });

    it('is the one on which all samplers agree, also a lone one', () => {
      assert.equal(rateOf(version, sampler(1, 1000), {}), 1000);
      assert.equal(rateOf(version, [...sampler(1, 1000), ...sampler(2, 1000)], {}), 1000);
    });

    it("is its interface's, and not another one's", () => {
      const options = [...scoped(byInterface, 3, 100), ...scoped(byInterface, 4, 10)];
      assert.equal(rateOf(version, options, onInterface(3)), 100);
      assert.equal(rateOf(version, options, onInterface(4)), 10);
      assert.equal(rateOf(version, options, onInterface(5)), CONFIGURED);
      const cards = [...scoped(byCard, 3, 100), ...scoped(byCard, 4, 10)];
      assert.equal(rateOf(version, cards, onInterface(3)), CONFIGURED);
      assert.equal(rateOf(version, scoped(byCard, 3, 100), onInterface(3)), 100);
    });

    it('is read of a probability', () => {
      const probability = Buffer.alloc(8);
      probability.writeDoubleBE(1 / 512);
      const options = [optionsTemplateSet(version, 402, [whole], [[311, 8]])];
      assert.equal(rateOf(version, [...options, set(402, [1, 4], probability)], {}), 512);
      for (const wrong of [0, 2, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
        probability.writeDoubleBE(wrong);
        const rate = rateOf(version, [...options, set(402, [1, 4], probability)], {});
        assert.equal(rate, CONFIGURED, `${wrong}`);
      }
    });
  });
}

describe('reported sampling rates', () => {
  const name = fc.record({
    sampler: fc.option(fc.nat(3), { nil: null }),
    input: fc.nat(3),
    other: fc.option(fc.nat(3), { nil: null }),
  });
  const report = fc.record({ domain: fc.constantFrom('1/0', '2/0'), name });

  it('are the same in whatever order they were reported', () => {
    let checked = 0;
    fc.assert(
      fc.property(
        fc.uniqueArray(report, {
          // Only the last report of one name counts, so each is reported once.
          selector: ({ domain, name: { sampler, input, other } }) => {
            const own = sampler ?? (input > 0 ? `i${input}` : other === null ? '' : `o${other}`);
            return `${domain} ${own}`;
          },
          maxLength: 12,
        }),
        fc.infiniteStream(fc.nat()),
        fc.infiniteStream(fc.constantFrom(1, 10, 100)),
        (reports, order, rates) => {
          const rated = reports.map((one) => ({ ...one, rate: rates.next().value as number }));
          const shuffled = rated
            .map((one) => ({ one, at: order.next().value as number }))
            .toSorted((a, b) => a.at - b.at)
            .map(({ one }) => one);
          const [first, second] = [rated, shuffled].map((all) => {
            const known = new SamplingRates();
            for (const {
              domain,
              name: { other, ...own },
              rate,
            } of all)
              known.set(domain, own, other, rate);
            return known;
          });
          for (const domain of ['1/0', '2/0', '3/0']) {
            for (const sampler of [null, 0, 1, 2, 3, 4]) {
              for (const input of [0, 1, 2, 3, 4]) {
                checked += 1;
                assert.equal(
                  first?.of(domain, { sampler, input }),
                  second?.of(domain, { sampler, input }),
                );
              }
            }
          }
        },
      ),
      { numRuns: 200 },
    );
    assert.ok(checked >= 10_000);
  });

  it('are bounded, in any number of domains and samplers', () => {
    const rates = new SamplingRates();
    for (let index = 0; index < 20_000; index++) {
      rates.set(`${index % 700}`, { sampler: index, input: 0 }, null, 10);
      rates.set('1', { sampler: index, input: 0 }, null, 10);
      assert.ok(rates.size <= 1100, `${rates.size}`);
    }
    rates.set('new', { sampler: 1, input: 0 }, null, 10);
    assert.equal(rates.of('new', { sampler: 1, input: 0 }), 10);
  });
});
