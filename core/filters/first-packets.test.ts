import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findFilter, type FilterType } from './catalogue.ts';
import { evaluateFilters, type FilterState } from './evaluate.ts';
import { ascii, type Transport } from './filter.ts';
import { combineFilters } from './program.ts';

/** What a source that is not known sends first: hex, filled with zeros to a length. */
type First = readonly [what: string, hex: string, length?: number];

const PASS: Readonly<Partial<Record<FilterType, Partial<Record<Transport, readonly First[]>>>>> = {
  openvpn: {
    udp: [
      ['a start', '38', 54],
      ['the third packet with tls-crypt-v2', '58', 642],
      ['data after a change of address', '48000001', 120],
    ],
    tcp: [
      ['a start', '000e38', 16],
      ['a start with tls-crypt-v2', '014650', 328],
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
      ['a Handshake of version 2', 'f36b3343cf', 80],
    ],
  },
  dns: {
    udp: [
      ['a query', '12340100000100000000000000', 40],
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
    udp: [['nothing of it', 'ff', 100]],
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
      ['a short header', '40', 60],
      ['a Handshake of no version', 'f300000001', 80],
    ],
  },
  dns: {
    udp: [
      ['an answer', '12348180000100010000000000', 80],
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
