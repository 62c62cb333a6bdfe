import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type Roaming,
  type RoamingKind,
  type Signature,
  signature,
  type TcpFilter,
  type UdpFilter,
} from './filter.ts';
import { combineFilters, type TcpProgram, type UdpProgram } from './program.ts';

const signatures = fc.array(
  fc.constantFrom('ff', '00', 'a5').map((hex) => signature(hex, 1, 9)),
  { maxLength: 2 },
);
const kind: fc.Arbitrary<RoamingKind> = fc.record({ packets: signatures, replies: signatures });
const roaming: fc.Arbitrary<Roaming> = fc.record({
  kinds: fc.oneof(fc.tuple(kind), fc.tuple(kind, kind)),
  rates: fc.record({ sourcePps: fc.nat(50), budgetPps: fc.nat(500) }),
});
const udpFilter: fc.Arbitrary<Required<UdpFilter>> = fc.record({
  greetings: signatures,
  replies: fc.option(signatures),
  data: signatures,
  rates: fc.record({ unvalidatedPps: fc.nat(50), validatedPps: fc.nat(5000) }),
  budgetPps: fc.nat(500),
  validatedSeconds: fc.integer({ min: 1, max: 600 }),
  roaming: fc.option(roaming),
});
const tcpFilter: fc.Arbitrary<TcpFilter> = fc.record({
  openings: signatures,
  synProxy: fc.boolean(),
  validatedPps: fc.nat(5000),
  connections: fc.option(fc.record({ perSecond: fc.nat(50), concurrent: fc.nat(500) })),
});
const ABOUT = { type: 'a', name: '', category: 'games', description: '', usualPorts: [] } as const;
const udpFilters = fc.array(udpFilter, { minLength: 1, maxLength: 4 });
const tcpFilters = fc.array(tcpFilter, { minLength: 1, maxLength: 4 });

function udpProgram(some: readonly UdpFilter[]): UdpProgram {
  const filters = some.map((udp) => ({ ...ABOUT, udp, tcp: null }));
  const program = combineFilters(filters, 'udp');
  assert.ok(program?.transport === 'udp');
  assert.equal(combineFilters(filters, 'tcp'), null);
  return program;
}

function tcpProgram(some: readonly TcpFilter[]): TcpProgram {
  const program = combineFilters(
    some.map((tcp) => ({ ...ABOUT, udp: null, tcp })),
    'tcp',
  );
  assert.ok(program?.transport === 'tcp');
  return program;
}

test('applies every limit and SYN proxy among the filters of a port', () => {
  fc.assert(
    fc.property(udpFilters, tcpFilters, (ofUdp, ofTcp) => {
      const udp = udpProgram(ofUdp);
      for (const one of ofUdp) {
        assert.ok(udp.rates.unvalidatedPps <= one.rates.unvalidatedPps);
        assert.ok(udp.rates.validatedPps <= one.rates.validatedPps);
        assert.ok(udp.budgetPps <= one.budgetPps);
        assert.ok(udp.validatedSeconds <= one.validatedSeconds);
      }
      const tcp = tcpProgram(ofTcp);
      for (const one of ofTcp) {
        assert.ok(tcp.validatedPps <= one.validatedPps);
        assert.ok(tcp.synProxy || !one.synProxy);
        if (one.connections === null) continue;
        assert.ok(tcp.connections !== null);
        assert.ok(tcp.connections.perSecond <= one.connections.perSecond);
        assert.ok(tcp.connections.concurrent <= one.connections.concurrent);
      }
    }),
  );
});

test('accepts the greetings and openings of all filters of a port, each once; filters without any change nothing', () => {
  const known = (lists: readonly (readonly unknown[])[]): string[] =>
    [...new Set(lists.flat().map((one) => JSON.stringify(one)))].toSorted();
  const texts = (list: readonly unknown[]): string[] => list.map((one) => JSON.stringify(one));
  fc.assert(
    fc.property(udpFilters, tcpFilters, (ofUdp, ofTcp) => {
      const { greetings, replies } = udpProgram(ofUdp);
      assert.deepEqual(texts(greetings), known(ofUdp.map((one) => one.greetings)));
      const replying = ofUdp.flatMap((one) => (one.replies === null ? [] : [one.replies]));
      assert.equal(replies === null, replying.length === 0);
      assert.deepEqual(texts(replies ?? []), known(replying));
      assert.deepEqual(texts(tcpProgram(ofTcp).openings), known(ofTcp.map((one) => one.openings)));
    }),
  );
});

test('narrows the data of a port only if each of its games says what its data is', () => {
  const ofGame = (data: readonly Signature[]): UdpFilter => ({
    greetings: [signature('01', 1)],
    replies: [],
    data,
    rates: { unvalidatedPps: 1, validatedPps: 1 },
    budgetPps: 1,
    validatedSeconds: 1,
  });
  const [frames, others] = [signature('80', 1), signature('90', 1)];
  const stateful = { ...ofGame([]), greetings: [] };
  assert.deepEqual(udpProgram([ofGame([frames]), stateful]).data, [frames]);
  assert.deepEqual(udpProgram([ofGame([frames]), ofGame([others])]).data, [frames, others]);
  assert.deepEqual(udpProgram([ofGame([frames]), ofGame([])]).data, []);
});

test('lets packets roam at the lowest rate, and validates them by the replies of every filter, the strictest it has', () => {
  const [a, b, c, d] = ['0a', '0b', '0c', '0d'].map((hex) => signature(hex, 1));
  assert.ok(a && b && c && d);
  const plain: UdpFilter = {
    greetings: [a],
    replies: [a],
    data: [a],
    rates: { unvalidatedPps: 1, validatedPps: 1 },
    budgetPps: 1,
    validatedSeconds: 1,
  };
  const one: UdpFilter = {
    ...plain,
    roaming: { kinds: [{ packets: [b], replies: [b] }], rates: { sourcePps: 5, budgetPps: 50 } },
  };
  const two: UdpFilter = {
    ...plain,
    roaming: {
      kinds: [
        { packets: [c], replies: [c] },
        { packets: [d], replies: [d] },
      ],
      rates: { sourcePps: 9, budgetPps: 20 },
    },
  };
  assert.equal(udpProgram([plain]).roaming, null);
  assert.deepEqual(udpProgram([one]).roaming, one.roaming);
  assert.deepEqual(udpProgram([plain, one, two]).roaming, {
    kinds: [
      { packets: [b, c], replies: [a, b, c] },
      { packets: [d], replies: [a, b, d] },
    ],
    rates: { sourcePps: 5, budgetPps: 20 },
  });
});

test('ignores the order and duplicates of filters', () => {
  fc.assert(
    fc.property(udpFilters, tcpFilters, (ofUdp, ofTcp) => {
      const twice = <T>(some: readonly T[]): T[] => [...some, ...some].toReversed();
      assert.equal(JSON.stringify(udpProgram(twice(ofUdp))), JSON.stringify(udpProgram(ofUdp)));
      assert.equal(JSON.stringify(tcpProgram(twice(ofTcp))), JSON.stringify(tcpProgram(ofTcp)));
    }),
  );
});
