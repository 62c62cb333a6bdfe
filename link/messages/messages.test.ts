import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { source } from '@portcullis/core/filters/games/source.ts';
import { parseSettings } from '@portcullis/core/filters/settings.ts';
import fc from 'fast-check';
import { mutations } from '../testing/mutations.ts';
import {
  parseAgentRef,
  parseAnswer,
  parseCall,
  parseNotice,
  parseReply,
  parseRequest,
} from './messages.ts';

const RULE = { ref: 'rule:1', action: 'deny', protocol: 'udp', port: 53, source: null };
const POLICY = {
  target: '203.0.113.10',
  mitigations: [],
  baseline: [],
  blocked: ['blocked:1.7.203.0.113.10-32'],
  default: 'deny',
  geo: [{ ref: 'geo:1', action: 'only', sets: ['asn:64496', 'country:DE'] }],
  rules: [RULE],
  filters: [{ ref: 'filter:1', type: 'udp-stateful', port: 27015, managed: true, safelist: [] }],
};
const PAGE = {
  kind: 'edge.page',
  generation: 3,
  whole: true,
  policies: [POLICY],
  removed: ['2001:db8::/32'],
  sourceSets: { version: 'v1', sets: { 'country:DE': ['192.0.2.0/24'] } },
  settings: {
    name: 'fra1',
    site: 'fra',
    devices: ['eth0'],
    management: [{ protocol: 'tcp', port: 22 }],
    sees: 'both',
    fragments: 'reassemble',
  },
  next: null,
};

describe('parseReply', () => {
  it('accepts a page unchanged', () => {
    assert.deepEqual(parseReply(PAGE), { ok: true, value: PAGE });
  });

  const hostile: Readonly<Record<string, unknown>> = {
    'a source that would end an nft statement': { ...RULE, source: '1.1.1.1; flush ruleset' },
    'a source with host bits': { ...RULE, source: '10.0.0.1/8' },
    'a source that is not canonical': { ...RULE, source: '2001:DB8::1' },
    'port 0': { ...RULE, port: 0 },
    'port 65536': { ...RULE, port: 65_536 },
    'a port as text': { ...RULE, port: '53' },
    'an unknown protocol': { ...RULE, protocol: 'sctp' },
    'a reference with a quote': { ...RULE, ref: 'rule:"1' },
    'a reference with a line feed': { ...RULE, ref: 'rule:1\n' },
    'no action': { ref: 'rule:1', protocol: 'udp', port: 53, source: null },
  };
  for (const [what, rule] of Object.entries(hostile)) {
    it(`rejects a rule with ${what}`, () => {
      const reply = parseReply({ ...PAGE, policies: [{ ...POLICY, rules: [rule] }] });
      assert.equal(reply.ok, false);
      assert.match(reply.ok ? '' : reply.reason, /^\/policies\/0\/rules\/0\//);
    });
  }

  it('accepts the widest settings of a filter that the interface accepts, and no other text', () => {
    const ranges = Array.from({ length: 16 }, (_, at) => `${60_000 + 10 * at}-${60_005 + 10 * at}`);
    const widest = {
      sourcePps: 1_000_000,
      newPerSecond: 100_000,
      minLength: 0,
      maxLength: 65_507,
      sourcePorts: ranges.join(','),
    };
    const accepted = parseSettings(source, widest);
    assert.ok(accepted.ok);
    const pageWith = (settings: object) => ({
      ...PAGE,
      policies: [{ ...POLICY, filters: POLICY.filters.map((one) => ({ ...one, settings })) }],
    });
    const page = pageWith(accepted.value);
    assert.deepEqual(parseReply(page), { ok: true, value: page });
    for (const sourcePorts of ['1; flush ruleset', '99999', '']) {
      assert.equal(parseReply(pageWith({ sourcePorts })).ok, false, sourcePorts);
    }
  });

  it('rejects a set with the name of a prototype', () => {
    const sourceSets = JSON.parse(
      '{"version":"1","sets":{"__proto__":["192.0.2.0/24"]}}',
    ) as unknown;
    assert.equal(parseReply({ ...PAGE, sourceSets }).ok, false);
  });

  it('rejects a device that would end an nft string', () => {
    const settings = { ...PAGE.settings, devices: ['eth0" }'] };
    assert.equal(parseReply({ ...PAGE, settings }).ok, false);
  });
});

describe('parseRequest', () => {
  it('distinguishes an unknown kind from an invalid message', () => {
    assert.equal(unknownKind({ kind: 'edge.unknown' }), 'edge.unknown');
    assert.equal(unknownKind({ kind: 'toString' }), 'toString');
    assert.equal(unknownKind({ kind: 'edge.hello' }), null);
    assert.equal(unknownKind({ kind: 7 }), null);
    assert.equal(unknownKind(null), null);
  });

  it('never throws on any JSON', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), mutations([PAGE])), (value) => {
        for (const parse of [
          parseReply,
          parseNotice,
          parseCall,
          parseAnswerOfNode,
          parseAgentRef,
          parseEdge,
          parseNode,
        ]) {
          assert.equal(typeof parse(value).ok, 'boolean');
        }
      }),
    );
  });

  it('accepts what it returned', () => {
    fc.assert(
      fc.property(mutations([PAGE]), (value) => {
        const parsed = parseReply(value);
        if (parsed.ok) assert.deepEqual(parseReply(parsed.value), parsed);
      }),
    );
  });
});

const parseEdge = (value: unknown) => parseRequest('edge', value);
const parseAnswerOfNode = (value: unknown) => parseAnswer({ kind: 'node.call' }, value);
const parseNode = (value: unknown) => parseRequest('node', value);

function unknownKind(message: unknown): string | null {
  const parsed = parseRequest('edge', message);
  assert.equal(parsed.ok, false);
  return parsed.ok ? null : parsed.unknownKind;
}

it('prose of a peer cannot control a terminal, and output of a game keeps its colours', () => {
  const hostile = '\u001b]0;owned\u0007\u009b2Jtext\r\n\tend';
  const refused = parseRequest('edge', {
    kind: 'edge.confirm',
    instance: 'one',
    generation: 1,
    refused: [{ target: '203.0.113.1', reason: hostile, goodGeneration: 0 }],
  });
  assert.ok(refused.ok && refused.value.kind === 'edge.confirm');
  assert.equal(refused.value.refused[0]?.reason, '\ufffd]0;owned\ufffd\ufffd2Jtext\ufffd\n\tend');
  const console = parseAnswerOfNode({
    kind: 'lines',
    lines: ['\u001b[31mred\u0000'],
    lastNumber: 1,
  });
  assert.ok(console.ok && console.value.kind === 'lines');
  assert.deepEqual(console.value.lines, ['\u001b[31mred\ufffd']);
});

it('prose of a peer can be stored: no NUL, no lone surrogate where it was cut', () => {
  const hello = { kind: 'edge.hello', protocolVersion: 1, instance: 'one', mode: 'enforce' };
  for (const text of ['a\u0000b', '\ud800', 'x'.repeat(20_001), `${'x'.repeat(1_999)}😀`]) {
    const parsed = parseRequest('edge', { ...hello, modeReason: text });
    assert.ok(parsed.ok && parsed.value.kind === 'edge.hello');
    const stored = parsed.value.modeReason ?? '';
    assert.ok(stored.length <= 2_000 && stored.isWellFormed() && !stored.includes('\u0000'));
  }
});
