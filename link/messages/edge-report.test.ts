import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_DROP_ENTRIES, MAX_DROP_SAMPLES } from './edge-report.ts';
import { parseCall, parseRequest } from './messages.ts';

const BEAT = {
  kind: 'edge.heartbeat',
  instance: 'one',
  mode: 'enforce',
  modeReason: null,
  generation: 1,
};
const DEVICE = {
  name: 'eth0',
  kind: 'physical',
  present: true,
  receives: true,
  xdp: 'native',
  reason: null,
  master: null,
};
const ENTRY = {
  target: '203.0.113.10',
  stage: 'policy',
  reason: 'denied',
  by: 'xdp',
  packets: 12,
  bytes: 768,
};
const SAMPLE = {
  atMs: 1_770_000_000_000,
  target: '203.0.113.0/24',
  stage: 'filters',
  reason: 'tcp-syn-proxy:invalid',
  by: 'nftables',
  source: '198.51.100.7',
  destination: '203.0.113.10',
  protocol: 6,
  sourcePort: 0,
  destinationPort: 443,
  length: 60,
  device: 'eth0',
};
const many = (length: number, one: object): object[] => Array.from({ length }, () => one);
const drops = (entries: readonly object[], samples: readonly object[] = []) => ({
  kind: 'edge.drops',
  instance: 'one',
  sequence: 1,
  atMs: 3,
  drops: { sinceMs: 1, untilMs: 2, entries, samples },
});

test('accepts a report, and drops the fields that a newer agent adds', () => {
  const report = {
    policies: 1,
    elements: 2,
    lastError: null,
    lastApplyMs: 3,
    filters: 4,
    repairs: 1,
    forgottenConnections: 5,
    kernel: 'disturbed',
    problems: ['no XDP'],
    devices: [DEVICE],
    hostDevices: ['eth0', 'lo'],
    fastPath: { isOn: false, reason: 'switched off', packets: 0 },
    management: [{ protocol: 'tcp', port: 2222 }],
    counters: 'xdp',
  };
  const devices = [{ ...DEVICE, speed: '10G' }];
  const parsed = parseRequest('edge', { ...BEAT, report: { ...report, devices, extra: 1 } });
  assert.deepEqual(parsed, { ok: true, value: { ...BEAT, report } });
});

test('accepts drops up to their limits', () => {
  const full = drops(many(MAX_DROP_ENTRIES, ENTRY), many(MAX_DROP_SAMPLES, SAMPLE));
  assert.deepEqual(parseRequest('edge', full), { ok: true, value: full });
  assert.equal(parseRequest('edge', drops(many(MAX_DROP_ENTRIES + 1, ENTRY))).ok, false);
  assert.equal(parseRequest('edge', drops([], many(MAX_DROP_SAMPLES + 1, SAMPLE))).ok, false);
});

for (const [what, wrong] of Object.entries({
  'a target with host bits': { target: '203.0.113.10/24' },
  'a negative count': { packets: -1 },
  'a fraction of a byte': { bytes: 1.5 },
  'a reason with a line feed': { reason: 'denied\n' },
  'a stage that drops nothing': { stage: 'return-traffic' },
})) {
  test(`rejects drops with ${what}`, () => {
    assert.equal(parseRequest('edge', drops([{ ...ENTRY, ...wrong }])).ok, false);
  });
}

test('rejects a sample with an address that is not canonical', () => {
  for (const source of ['198.51.100.007', '::ffff:192.0.2.1', '2001:DB8::1', '10.0.0.0/8']) {
    assert.equal(parseRequest('edge', drops([], [{ ...SAMPLE, source }])).ok, false, source);
  }
});

test('accepts a call to explain one packet', () => {
  const call = {
    kind: 'edge.explain',
    packet: {
      family: 6,
      source: '2001:db8::1',
      destination: '2001:db8::2',
      protocol: 58,
      sourcePort: null,
      destinationPort: null,
      icmp: { type: 128, code: 0 },
      hopLimit: 64,
      fragment: 'none',
    },
  };
  assert.deepEqual(parseCall(call), { ok: true, value: call });
  for (const family of [5, '4', null])
    assert.equal(parseCall({ ...call, packet: { ...call.packet, family } }).ok, false);
});
