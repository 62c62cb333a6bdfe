import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { VECTOR_COUNT } from '@portcullis/core/attacks/vectors.ts';
import { mutations } from '../testing/mutations.ts';
import { isFor, parseNotice, parseReply, parseRequest } from './messages.ts';
import {
  MAX_SAFELIST,
  MAX_SAMPLES_PER_MESSAGE,
  MAX_SCOPES_PER_PAGE,
  MAX_SUBJECTS_PER_SAMPLE,
} from './attacks.ts';
import { MAX_TOPS } from '@portcullis/core/attacks/top-talkers.ts';

const SCOPE = {
  scope: '203.0.113.0/24',
  pps: 20_000,
  bps: 1_000_000_000,
  holdMs: 60_000,
  mitigation: 'on',
  safelist: ['198.51.100.7', '2001:db8::/32'],
  subject: true,
};
const SETTINGS = {
  kind: 'watch.settings',
  version: 'v1',
  scopes: [SCOPE],
  cancelled: [{ subject: '203.0.113.10', startedAtMs: 1_790_000_000_000 }],
  next: null,
};
const SUBJECT = {
  subject: '203.0.113.10',
  prefix: '203.0.113.0/24',
  packets: 10_000,
  bytes: 600_000.5,
  dataPackets: 0,
  dataBytes: 0,
  receiptPackets: 0,
  packetVariance: 0,
  byteVariance: 1e20,
  vectors: [{ vector: 6, packets: 10_000, bytes: 600_000 }],
};
const TOPS = {
  subject: '203.0.113.10',
  sources: [{ source: '198.51.100.7', packets: 9 }],
  sourcePorts: [
    { port: 53, protocol: 'udp', packets: 9 },
    { port: 53, packets: 9 },
  ],
  destinationPorts: [{ port: 0, packets: 9 }],
};
const SAMPLE = {
  atMs: 1_770_000_000_000,
  durationMs: 250.25,
  addresses: [SUBJECT],
  prefixes: [{ ...SUBJECT, subject: '203.0.113.0/24', prefix: null }],
  tops: [TOPS],
};
const SAMPLES = { kind: 'watch.samples', instance: 'one', sequence: 1, atMs: 5, samples: [SAMPLE] };
const LIMIT = { per: 'source', pps: 100, unansweredOnly: true };
const ACTIONS = [
  { kind: 'reflector', reflector: 'dns' },
  { kind: 'fragments' },
  { kind: 'source', source: '198.51.100.7', protocol: 'tcp' },
  { kind: 'limit', protocol: 'udp', port: null, fragment: 'any', limit: LIMIT },
  { kind: 'filter', type: 'tcp-syn-proxy', port: 443 },
];
const ATTACK = {
  id: '203.0.113.10@1',
  subject: '203.0.113.10',
  type: 'dns_amplification',
  shares: [{ type: 'dns_amplification', share: 1 }],
  peakPps: { value: 1, low: 1, high: 1 },
  peakBps: { value: 1, low: 1, high: 1 },
  startedAtMs: 1,
  endedAtMs: 4,
  openedAtMs: 2,
  mitigatedAtMs: 3,
  actions: ACTIONS.map((action) => ({ action, mode: 'enforce', sinceMs: 3, untilMs: null })),
  tops: TOPS,
};
const ATTACKS = { kind: 'edge.attacks', instance: 'one', atMs: 5, attacks: [ATTACK] };

const sample = (change: object): object => ({ ...SAMPLES, samples: [{ ...SAMPLE, ...change }] });
const subject = (change: object): object => sample({ addresses: [{ ...SUBJECT, ...change }] });
const attack = (change: object): object => ({ ...ATTACKS, attacks: [{ ...ATTACK, ...change }] });
const scope = (change: object): object => ({ ...SETTINGS, scopes: [{ ...SCOPE, ...change }] });
const many = (length: number, one: unknown): unknown[] => Array.from({ length }, () => one);

describe('attack messages', () => {
  it('name a limit as version 0.1 did, or as now', () => {
    const { unansweredOnly, ...limit } = LIMIT;
    const action = { ...ACTIONS[3], limit: { ...limit, strangersOnly: unansweredOnly } };
    const actions = [{ action, mode: 'enforce', sinceMs: 3, untilMs: null }];
    const parsed = parseRequest('edge', attack({ actions }));
    const expected = attack({ actions: [{ ...actions[0], action: ACTIONS[3] }] });
    assert.deepEqual(parsed, { ok: true, value: expected });
  });

  it('are accepted unchanged', () => {
    const ask = { kind: 'detection.getSettings', instance: 'one', version: null, cursor: null };
    for (const message of [ask, SAMPLES, ATTACKS]) {
      assert.deepEqual(parseRequest('edge', message), { ok: true, value: message });
    }
    assert.deepEqual(parseReply(SETTINGS), { ok: true, value: SETTINGS });
    const current = { ...SETTINGS, scopes: null };
    assert.deepEqual(parseReply(current), { ok: true, value: current });
  });

  it('are neither accepted from nodes nor sent to them', () => {
    const notice = parseNotice({ kind: 'watch', version: 'v1' });
    assert.ok(notice.ok);
    assert.equal(isFor(notice.value, { kind: 'edge', name: 'fra1' }), true);
    assert.equal(isFor(notice.value, { kind: 'node', name: 'node-1' }), false);
    assert.equal(parseRequest('node', SAMPLES).ok, false);
  });

  const hostile: Readonly<Record<string, object>> = {
    'an address that would end an nft statement': subject({ subject: '1.1.1.1; flush ruleset' }),
    'a prefix with host bits': subject({ prefix: '203.0.113.1/24' }),
    'a negative count': subject({ packets: -1 }),
    'a count that is not finite (1e999)': subject({ bytes: Infinity }),
    'a vector below the first': subject({ vectors: [{ vector: -1, packets: 1, bytes: 1 }] }),
    'a bucket of no duration': sample({ durationMs: 0 }),
    'a bucket of an hour': sample({ durationMs: 3_600_000 }),
    'more addresses than a sample has': sample({
      addresses: many(MAX_SUBJECTS_PER_SAMPLE + 1, SUBJECT),
    }),
    'more samples than a message has': {
      ...SAMPLES,
      samples: many(MAX_SAMPLES_PER_MESSAGE + 1, SAMPLE),
    },
    'a source with a length': sample({
      tops: [{ ...TOPS, sources: [{ source: '198.51.100.0/24', packets: 1 }] }],
    }),
    'more top ports than the limit': sample({
      tops: [{ ...TOPS, sourcePorts: many(MAX_TOPS + 1, { port: 1, packets: 1 }) }],
    }),
    'an attack of an unknown type': attack({ type: 'toString' }),
    'a share above 1': attack({ shares: [{ type: 'udp_flood', share: 1.01 }] }),
    'an action against an invalid network': attack({
      actions: [{ ...ATTACK.actions[2], action: { ...ACTIONS[2], source: 'all' } }],
    }),
    'an action of an unknown kind': attack({
      actions: [{ ...ATTACK.actions[0], action: { kind: 'unknown' } }],
    }),
  };
  for (const [what, message] of Object.entries(hostile)) {
    it(`are rejected with ${what}`, () => {
      const parsed = parseRequest('edge', message);
      assert.equal(parsed.ok, false);
      // An invalid message, not one of an unknown kind.
      assert.equal(parsed.ok ? '' : parsed.unknownKind, null);
    });
  }

  it('are rejected with settings that have a zero threshold, an invalid network or too many items', () => {
    const wrong = [
      scope({ pps: 0 }),
      scope({ bps: -1 }),
      scope({ pps: 0.5 }),
      scope({ holdMs: 0 }),
      scope({ scope: '203.0.113.1/24' }),
      scope({ mitigation: 'ON' }),
      scope({ safelist: ['all'] }),
      scope({ safelist: many(MAX_SAFELIST + 1, '198.51.100.7') }),
      { ...SETTINGS, scopes: many(MAX_SCOPES_PER_PAGE + 1, SCOPE) },
    ];
    for (const reply of wrong)
      assert.equal(parseReply(reply).ok, false, JSON.stringify(reply).slice(0, 200));
  });

  it('of a newer edge lose only the vectors that are unknown here', () => {
    const newer = { vector: VECTOR_COUNT, packets: 1, bytes: 1 };
    const parsed = parseRequest('edge', subject({ vectors: [...SUBJECT.vectors, newer] }));
    assert.deepEqual(parsed, { ok: true, value: SAMPLES });
  });

  it('never make the parser throw', () => {
    fc.assert(
      fc.property(mutations([SAMPLES, ATTACKS, SETTINGS]), (value) => {
        assert.equal(typeof parseRequest('edge', value).ok, 'boolean');
        assert.equal(typeof parseReply(value).ok, 'boolean');
      }),
    );
  });
});
