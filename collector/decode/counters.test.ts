import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  addressBytes,
  message,
  type Part,
  set,
  type Spec,
  templateSet,
} from '../testing/datagrams.ts';
import { created, read, TARGET } from '../testing/decoded.ts';

const SOURCE = '198.51.100.7';
const KEY: readonly Spec[] = [
  [8, 4],
  [12, 4],
  [4, 1],
];
const keyBytes: readonly Part[] = [addressBytes(SOURCE), addressBytes(TARGET), [17, 1]];

interface Read {
  readonly forward: readonly [packets: number, bytes: number] | null;
  readonly reverse: readonly [packets: number, bytes: number] | null;
}

/** The two directions of records with these counters, each record read after the other. */
function readRecords(
  version: 9 | 10,
  counters: readonly (readonly [field: number, ...values: number[]])[],
  times: { readonly specs: readonly Spec[]; readonly values: readonly (readonly Part[])[] } = {
    specs: [],
    values: [],
  },
) {
  const exporter = created();
  const specs = [...KEY, ...times.specs, ...counters.map(([field]): Spec => [field, 8])];
  // The header of IPFIX has the enterprise number of reverse fields only.
  read(exporter, message(version, [templateSet(version, 300, specs)]));
  const count = Math.max(...counters.map((one) => one.length - 1));
  const each = Array.from({ length: count }, (_, index): Read => {
    const values = counters.map(([, ...all]): Part => [all[index] ?? 0, 8]);
    const data = set(300, ...keyBytes, ...(times.values[index] ?? []), ...values);
    const records = read(exporter, message(version, [data]));
    const of = (address: string): readonly [number, number] | null => {
      const found = records.filter(
        ({ destination }) => destination[3] === addressBytes(address).readUInt32BE(),
      );
      assert.ok(found.length <= 1);
      return found[0] === undefined ? null : [found[0].packets, found[0].bytes];
    };
    return { forward: of(TARGET), reverse: of(SOURCE) };
  });
  return { each, exporter };
}

/** Fields of IANA's list for packets and bytes of a flow. */
const PAIRS: readonly (readonly [what: string, packets: number, bytes: number])[] = [
  ['deltas', 2, 1],
  ['totals', 86, 85],
  ['what the initiator sent', 298, 231],
  ['frames of layer 2', 430, 352],
  ['frames of layer 2, deprecated number', 430, 416],
  ['totals of frames of layer 2', 431, 353],
  ['totals of frames of layer 2, deprecated number', 431, 419],
  ['what was sent on', 24, 23],
  ['totals of what was sent on', 172, 171],
  ['frames that were sent on', 24, 417],
  ['totals of frames that were sent on', 172, 420],
  ['packets of transport protocols', 402, 401],
  ['multicast copies', 19, 20],
  ['totals of multicast copies', 174, 175],
  ['frames of multicast copies', 19, 418],
  ['totals of frames of multicast copies', 174, 421],
];
const BACK = 0x8000;

for (const version of [9, 10] as const) {
  describe(`counters of ${version === 9 ? 'NetFlow 9' : 'IPFIX'}`, () => {
    for (const [what, packets, bytes] of PAIRS) {
      it(`are read of ${what} (${packets}, ${bytes})`, () => {
        const { each } = readRecords(version, [
          [packets, 7],
          [bytes, 700],
        ]);
        assert.deepEqual(each, [{ forward: [7, 700], reverse: null }]);
      });

      it(`count once if ${what} (${packets}, ${bytes}) stand beside deltas, wherever`, () => {
        if (packets === 2) return;
        const deltas = [
          [2, 5],
          [1, 500],
        ] as const;
        const others = [
          [packets, 7],
          [bytes, 700],
        ] as const;
        for (const counters of [
          [...deltas, ...others],
          [...others, ...deltas],
        ]) {
          assert.deepEqual(readRecords(version, counters).each, [
            { forward: [5, 500], reverse: null },
          ]);
        }
      });
    }

    it('of a session are those of the initiator and of the responder, also beside their sum', () => {
      const session = [
        [231, 500],
        [298, 5],
        [232, 900],
        [299, 9],
      ] as const;
      const sum = [
        [1, 1400],
        [2, 14],
      ] as const;
      const expected = [{ forward: [5, 500], reverse: [9, 900] }];
      assert.deepEqual(readRecords(version, session).each, expected);
      assert.deepEqual(readRecords(version, [...sum, ...session]).each, expected);
      assert.deepEqual(readRecords(version, [...session, ...sum]).each, expected);
      const answers = [
        [298, 0],
        [231, 0],
        [299, 9],
        [232, 900],
      ] as const;
      assert.deepEqual(readRecords(version, answers).each, [{ forward: null, reverse: [9, 900] }]);
    });

    it('that are totals count what is new since the last record of the flow', () => {
      const { each, exporter } = readRecords(version, [
        [86, 10, 25, 25, 40, 8],
        [85, 1000, 2500, 2500, 4000, 800],
      ]);
      assert.deepEqual(
        each.map(({ forward }) => forward),
        // Unchanged totals are no traffic, and smaller ones were begun again.
        [[10, 1000], [15, 1500], null, [15, 1500], [8, 800]],
      );
      assert.equal(exporter.counters.withoutTraffic, 1);
    });

    it('that are totals of another flow with the same addresses count from its start', () => {
      const at = (startMs: number, endMs: number): Part[] => [
        [startMs, 8],
        [endMs, 8],
      ];
      const specs: Spec[] = [
        [152, 8],
        [153, 8],
      ];
      const values = [at(1000, 2000), at(1000, 4000), at(5000, 6000), at(1000, 3000)];
      const { each } = readRecords(
        version,
        [
          [86, 10, 30, 40, 20],
          [85, 1000, 3000, 4000, 2000],
        ],
        { specs, values },
      );
      assert.deepEqual(
        each.map(({ forward }) => forward),
        // The last one was overtaken by the second.
        [[10, 1000], [20, 2000], [40, 4000], null],
      );
    });

    it('that are no traffic of the flow count nothing, and it is said', () => {
      // Dropped, ignored and unsent packets, SYN packets, packets of the interface, records of the exporter.
      for (const field of [132, 133, 134, 135, 164, 165, 167, 168, 218, 219, 354, 355, 41, 42]) {
        const { each, exporter } = readRecords(version, [[field, 7]]);
        assert.deepEqual(each, [{ forward: null, reverse: null }]);
        assert.equal(exporter.counters.withoutTraffic, 1);
        assert.equal(exporter.counters.malformed, 0);
      }
      const { exporter } = readRecords(version, [
        [1, 700],
        [2, 0],
      ]);
      assert.equal(exporter.counters.withoutTraffic, 1);
    });
  });
}

describe('counters of IPFIX', () => {
  it('of the reverse direction are read of every pair', () => {
    for (const [, packets, bytes] of PAIRS) {
      const { each } = readRecords(10, [
        [packets, 7],
        [bytes, 700],
        [BACK + packets, 3],
        [BACK + bytes, 300],
      ]);
      assert.deepEqual(each, [{ forward: [7, 700], reverse: [3, 300] }], `${packets}`);
    }
  });

  it('of the reverse direction are enterprise fields, whatever another number looks like', () => {
    const { each } = readRecords(10, [
      [2, 7],
      [1, 700],
      [0x4000 + 2, 3],
      [0x4000 + 1, 300],
    ]);
    assert.deepEqual(each, [{ forward: [7, 700], reverse: null }]);
  });

  it('says that records have no destination', () => {
    const exporter = created();
    const specs: Spec[] = [
      [8, 4],
      [2, 4],
    ];
    const data = set(300, addressBytes(SOURCE), [7, 4], addressBytes(SOURCE), [7, 4]);
    assert.deepEqual(read(exporter, message(10, [templateSet(10, 300, specs), data])), []);
    assert.equal(exporter.counters.withoutTraffic, 2);
  });
});
