import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findFilter, type FilterType } from './catalogue.ts';
import { evaluateFilters, type FilterState, fits } from './evaluate.ts';
import { ascii, type Transport } from './filter.ts';
import { combineFilters } from './program.ts';

/** Packets that a source that is not known sends first: hex, filled with zeros to a length. */
type First = readonly [what: string, hex: string, length?: number];

/** The cookies 0 and 0x1234, as they are scrambled for port 7777. */
const SAMP = ['081e8a27', '2a1ef423'];

const PASS: Readonly<Partial<Record<FilterType, Partial<Record<Transport, readonly First[]>>>>> = {
  openvpn: {
    udp: [
      ['a start', '38', 54],
      ['the third packet with tls-crypt-v2', '58', 642],
      ['the first packet with tls-crypt-v2', '50', 353],
      ['data after a change of address', '48000001', 120],
      ['data of a later key', '4d000001', 40],
    ],
    tcp: [
      ['a start', '000e38', 16],
      ['a start with tls-crypt-v2', '016150', 355],
    ],
  },
  wireguard: {
    udp: [
      ['an initiation', '01000000', 148],
      ['the answer to an initiation of the server', '02000000', 92],
      ['a keepalive after a change of address', '04000000', 32],
    ],
  },
  quic: {
    udp: [
      ['an Initial', 'c300000001', 1200],
      ['an Initial of version 2', 'd36b3343cf', 1250],
      ['an Initial of a version that it is asked about', 'c30a1a2a3a', 1200],
      ['a Handshake', 'e300000001', 80],
      ['0-RTT of a draft', 'd3ff00001d', 80],
      ['a Handshake of version 2', 'f36b3343cf', 80],
      ['0-RTT of version 2', 'e36b3343cf', 80],
      ['a request before the first short header of the server', '5a', 600],
      ['an acknowledgement after a change of address', '4a', 35],
      ['data after a change of address', '4a', 1350],
    ],
  },
  samp: { udp: SAMP.map((hex): First => ['a request for a connection', hex]) },
  mumble: { udp: [['a ping', 'a1b2c3d4', 16]] },
  ntp: { udp: ['0b', '1b', '23', 'e3'].map((hex): First => [`a request, ${hex}`, hex, 48]) },
  dns: {
    udp: [
      ['a query', '12340100000100000000000000', 40],
      ['a query with EDNS and a signature', '12340130000100000000000203', 200],
      ['an IXFR', '12340000000100000001000003', 80],
      ['a NOTIFY', '12342400000100000000000000', 40],
      ['a NOTIFY with the new record', '12342400000100010000000000', 80],
      ['an UPDATE', '12342800000100000002000000', 900],
    ],
    tcp: [['an UPDATE', '03841234280000010000000200', 902]],
  },
  http: {
    tcp: [
      'GET / HTTP/1.1',
      'PROPFIND / HTTP/1.1',
      'MKCOL /a HTTP/1.1',
      'MOVE /a HTTP/1.1',
      'LOCK /a HTTP/1.1',
      'REPORT / HTTP/1.1',
      'PURGE / HTTP/1.1',
      'QUERY / HTTP/1.1',
      'SOURCE /live HTTP/1.0',
      'SUBSCRIBE / HTTP/1.1',
      'M-SEARCH * HTTP/1.1',
      'VERSION-CONTROL / HTTP/1.1',
      '\r\nGET / HTTP/1.1',
    ].map((line): First => [JSON.stringify(line), ascii(line)]),
  },
};

const DROP: typeof PASS = {
  openvpn: {
    udp: [
      ['nothing of it', 'ff', 100],
      ['a start of another key', '39', 54],
      ['a start with a key that is too short', '50', 335],
      ['data of no peer', '48ffffff', 120],
      ['an acknowledgement of nothing', '28', 21],
    ],
    tcp: ['GET / HTTP/1.1', 'POST / HTTP/1.1', 'SSH-2.0-x'].map(
      (line): First => [line, ascii(line)],
    ),
  },
  wireguard: {
    udp: [
      ['an initiation of another length', '01000000', 149],
      ['transport without content', '04000000', 31],
      ['a cookie', '03000000', 64],
    ],
  },
  quic: {
    udp: [
      ['a short Initial', 'c300000001', 1199],
      ['less than a packet', '40', 20],
      ['more than a link carries', '40', 1501],
      ['no fixed bit', '00', 60],
      ['a Retry', 'f300000001', 80],
      ['a Handshake of another protocol', 'e312345678', 80],
    ],
  },
  dns: {
    udp: [
      ['an answer', '12348180000100010000000000', 80],
      ['a query with the bits of an answer', '12340400000100000000000000', 40],
      ['a query that says it failed', '12340103000100000000000000', 40],
      ['a query with authorities', '12340100000100000002000000', 40],
      ['a query of a label that is too long', '12340100000100000000000040', 80],
      ['a NOTIFY of two zones', '12342400000200000000000000', 80],
      ['an answer to a NOTIFY', '1234a400000100000000000000', 40],
    ],
  },
  http: {
    tcp: ['SSH-2.0-x', 'HELO example', 'USER x', '\r\n\r\n', 'get / HTTP/1.1', 'GETS /'].map(
      (line): First => [JSON.stringify(line), ascii(line)],
    ),
  },
};

function passes(type: FilterType, transport: Transport, [, hex, length = 0]: First): boolean {
  const bytes = Buffer.from(hex, 'hex');
  const payload = Buffer.alloc(Math.max(length, bytes.length));
  bytes.copy(payload);
  const filter = findFilter(type);
  assert.ok(filter);
  const program = combineFilters([filter], transport);
  assert.ok(program);
  const state: FilterState = {
    payload,
    validated: false,
    established: true,
    opened: false,
    above: [],
  };
  return evaluateFilters(program, 'both', 40_000, state) === null;
}

/**
 * RFC 9000, 10.3.3: a reset is smaller than the packet that it answers; nginx sends up to three times as much, to
 * 1,200 bytes.
 */
describe('a stateless reset of a QUIC server', () => {
  const { roaming } = findFilter('quic')?.udp ?? assert.fail();
  const shortHeader = (length: number): Buffer => Buffer.alloc(length, 0x41);
  for (const length of [21, 43, 44, 399, 400, 1200, 1500]) {
    it(`validates no source that sent a short header of ${length} bytes, and a full packet does`, () => {
      const kinds = roaming?.kinds.filter(({ packets }) =>
        packets.some((one) => fits(one, shortHeader(length))),
      );
      assert.equal(kinds?.length, 1);
      const [{ replies } = assert.fail()] = kinds;
      const longest = length <= 43 ? length - 1 : Math.min(1200, 3 * length);
      for (const reset of [21, 40, longest])
        assert.ok(!replies.some((one) => fits(one, shortHeader(reset))), `${reset}`);
      assert.ok(replies.some((one) => fits(one, shortHeader(1252))));
    });
  }
});

describe('what roams', () => {
  const program = combineFilters([findFilter('quic') ?? assert.fail()], 'udp') ?? assert.fail();
  const payload = Buffer.alloc(60, 0x41);
  const state = { payload, validated: false, established: false, opened: false };

  it('has the limits of unknown sources', () => {
    for (const reason of ['unvalidated-rate', 'budget'] as const)
      assert.equal(evaluateFilters(program, 'both', 1, { ...state, above: [reason] }), reason);
    assert.ok(program.transport === 'udp' && program.roaming !== null);
    const rates = { sourcePps: 1, budgetPps: 0 };
    const closed = { ...program, roaming: { ...program.roaming, rates } };
    assert.equal(evaluateFilters(closed, 'both', 1, { ...state, above: [] }), 'budget');
    const taken = { ...program, budgetPps: 0 };
    assert.equal(evaluateFilters(taken, 'both', 1, { ...state, above: [] }), null);
  });
});

describe('the first packet of an unknown source', () => {
  for (const [table, expected] of [
    [PASS, true],
    [DROP, false],
  ] as const) {
    for (const [type, transports] of Object.entries(table)) {
      for (const [transport, all] of Object.entries(transports)) {
        for (const first of all) {
          it(`${type}, ${transport}: ${first[0]} ${expected ? 'passes' : 'is dropped'}`, () => {
            assert.equal(passes(type as FilterType, transport as Transport, first), expected);
          });
        }
      }
    }
  }
});
