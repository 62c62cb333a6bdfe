import assert from 'node:assert/strict';
import { it } from 'node:test';
import { decide, type EdgeView } from '@portcullis/core/firewall/decide/decide.ts';
import { protocolNumber } from '@portcullis/core/firewall/match.ts';
import { createPolicyTable } from '@portcullis/core/firewall/policy-table.ts';
import {
  packets,
  type Situation,
  situation,
} from '@portcullis/core/firewall/testing/edge-views.ts';
import type { Packet } from '@portcullis/core/firewall/packet.ts';
import type { Policy, PolicyRule, SourceSets } from '@portcullis/core/firewall/policy.ts';
import { parseAddress } from '@portcullis/core/net/address.ts';
import fc from 'fast-check';
import { type FrameOptions, frameOf, udpPacket } from '../../testing/frames.ts';
import { allowPort, denyAll, EARLY_SETTINGS } from '../../testing/policies.ts';
import { compileEarly } from '../compile/compile.ts';
import type { EarlyDropDriver, EarlySettings } from './driver.ts';
import type { Flow } from '../flows/mark-keys.ts';
import { addressBytes } from '../maps/layout.ts';
import { NO_UNIONS, planUnions } from '../compile/unions.ts';

const DEVICE = 1;
/** For each drawn table: the kernel takes far longer to load one than to evaluate a packet. */
const PACKETS = 20;
const ONLY_RULES = { mitigations: [], filters: [] };
const NO_SETS: SourceSets = { version: '', sets: {} };
const SETTINGS: EarlySettings = { ...EARLY_SETTINGS, management: [{ protocol: 'tcp', port: 22 }] };

/**
 * The guarantees of every driver about frames. `fresh` returns an empty one; `numRuns` applies to each property;
 * 0 leaves them out.
 */
export function earlyDropSuite(fresh: () => EarlyDropDriver, numRuns: number): void {
  const loaded = (
    policies: readonly Policy[],
    settings: Partial<EarlySettings> = {},
    sourceSets: SourceSets = NO_SETS,
  ) => {
    const driver = fresh();
    const targets = policies.map(compileEarly);
    const requested = new Map(targets.flatMap(({ unions }) => [...unions]));
    driver.load(targets, { ...SETTINGS, ...settings }, planUnions(requested, sourceSets));
    driver.enforce();
    return driver;
  };

  it('drops packets that the rules of an address deny, and none of an address without rules', () => {
    for (const { server, neighbour, client } of [V4, V6]) {
      const driver = loaded([denyAll(server, [allowPort('udp', 27_015)])]);
      assert.equal(verdict(driver, udpPacket(client, server, 27_015)), 'pass');
      assert.equal(verdict(driver, udpPacket(client, server, 27_016)), 'drop');
      assert.equal(verdict(driver, udpPacket(client, neighbour, 27_016)), 'pass');
    }
  });

  it('evaluates by the loaded state, independent of the prepared one', async () => {
    const { server, neighbour, client } = V4;
    const targets = [denyAll(server, [allowPort('udp', 27_015)])].map(compileEarly);
    const others = [denyAll(neighbour, [])].map(compileEarly);
    const driver = fresh();
    for (const ready of [targets, others, [], [...targets, ...others]]) {
      assert.equal(await driver.prepare(ready, NO_UNIONS), null);
      driver.load(targets, SETTINGS, NO_UNIONS);
      driver.enforce();
      assert.equal(verdict(driver, udpPacket(client, server, 27_015)), 'pass');
      assert.equal(verdict(driver, udpPacket(client, server, 27_016)), 'drop');
      assert.equal(verdict(driver, udpPacket(client, neighbour, 27_016)), 'pass');
    }
  });

  it('counts drops by address and reason', () => {
    const driver = loaded([denyAll(V4.server, [])]);
    const frame = frameOf(udpPacket(V4.client, V4.server, 9));
    for (let sent = 0; sent < 3; sent++) driver.evaluate(frame, DEVICE);
    assert.deepEqual(driver.counts(), [
      { target: V4.server, reason: 'rules', packets: 3, bytes: frame.length * 3 },
    ]);
  });

  it('counts for a changed reason, and for the previous one', () => {
    const rules = denyAll(V4.server, []);
    const driver = loaded([rules]);
    const frame = frameOf(udpPacket(V4.client, V4.server, 9));
    driver.evaluate(frame, DEVICE);
    driver.change([compileEarly({ ...rules, baseline: rules.rules, rules: [] })], []);
    driver.evaluate(frame, DEVICE);
    driver.evaluate(frame, DEVICE);
    const reported = driver.counts().map(({ reason, packets }) => `${reason} ${packets}`);
    assert.deepEqual(reported.toSorted(), ['baseline 2', 'rules 1']);
  });

  it('parses VLAN tags of evaluated VLANs, and passes other VLANs', () => {
    const vlans = [{ ifindex: DEVICE, outer: 100, inner: 0 }];
    const driver = loaded([denyAll(V4.server, [])], { vlans });
    const tagged = (...tags: number[]) => frameOf(udpPacket(V4.client, V4.server, 9), { tags });
    assert.equal(driver.evaluate(tagged(100), DEVICE), 'drop');
    assert.equal(driver.evaluate(tagged(200), DEVICE), 'pass');
    assert.equal(driver.evaluate(tagged(100, 200), DEVICE), 'pass');
  });

  it('parses IPv6 extension headers, and passes unreadable packets', () => {
    const driver = loaded([denyAll(V6.server, []), denyAll(V4.server, [])]);
    const six = udpPacket(V6.client, V6.server, 9);
    for (const extensions of [[0], [60], [0, 60, 43, 60]]) {
      assert.equal(verdict(driver, six, { extensions }), 'drop', `${extensions}`);
    }
    const seven = [0, 60, 60, 60, 60, 60, 60];
    assert.equal(verdict(driver, six, { extensions: seven }), 'pass');
    for (const fragment of ['first', 'later'] as const) {
      assert.equal(verdict(driver, { ...six, fragment }), 'pass');
      const four = { ...udpPacket(V4.client, V4.server, 9), fragment };
      assert.equal(verdict(driver, four), 'pass');
    }
    for (const cutAt of [14, 20, 33, 36, 40]) {
      assert.equal(verdict(driver, udpPacket(V4.client, V4.server, 9), { cutAt }), 'pass');
    }
  });

  it('passes management ports, DHCP, ICMP errors, and replies to flows of the protected side', () => {
    for (const { client, server, family } of [V4, V6]) {
      const driver = loaded([denyAll(server, [])]);
      assert.equal(verdict(driver, tcp(client, server, 22)), 'pass');
      assert.equal(verdict(driver, icmp(client, server, family === 4 ? 3 : 1)), 'pass');
      const lease = udpPacket(client, server, family === 4 ? 68 : 546);
      const offer = { ...lease, sourcePort: family === 4 ? 67 : 547 };
      assert.equal(verdict(driver, offer), 'pass');
      assert.equal(verdict(driver, lease), 'drop');
      const reply = udpPacket(client, server, 40_000);
      assert.equal(verdict(driver, reply), 'drop');
      driver.remember([flowOf(reply)]);
      assert.equal(verdict(driver, reply), 'pass');
      assert.equal(verdict(driver, { ...reply, sourcePort: 1 }), 'drop');
    }
  });

  it('passes every possible reply until every open flow is known', () => {
    const driver = loaded([denyAll(V4.server, [])], { flowsComplete: false });
    assert.equal(verdict(driver, udpPacket(V4.client, V4.server, 9)), 'pass');
    assert.equal(verdict(driver, tcp(V4.client, V4.server, 9), { flags: 0x10 }), 'pass');
    assert.equal(verdict(driver, tcp(V4.client, V4.server, 9), { flags: 2 }), 'drop');
  });

  it('evaluates by the address first, then by its longest prefix', () => {
    const driver = loaded([
      denyAll('203.0.113.0/24', [allowPort('udp', 1)]),
      denyAll('203.0.0.0/16', [allowPort('udp', 2)]),
      denyAll(V4.server, [allowPort('udp', 3)]),
    ]);
    const passes = (to: string, port: number) =>
      verdict(driver, udpPacket(V4.client, to, port)) === 'pass';
    assert.deepEqual(
      [1, 2, 3].map((port) => passes(V4.server, port)),
      [false, false, true],
    );
    assert.deepEqual(
      [1, 2, 3].map((port) => passes('203.0.113.7', port)),
      [true, false, false],
    );
    assert.deepEqual(
      [1, 2, 3].map((port) => passes('203.0.7.7', port)),
      [false, true, false],
    );
  });

  for (const count of [15, 16, 17, 128, 129, 600]) {
    it(`evaluates ${count} rules of one address correctly`, () => {
      const ports = Array.from({ length: count }, (_, index) => 1000 + index * 7);
      for (const { client, server } of [V4, V6]) {
        const driver = loaded([
          denyAll(
            server,
            ports.map((port) => allowPort('udp', port)),
          ),
        ]);
        const passes = (port: number) =>
          verdict(driver, udpPacket(client, server, port)) === 'pass';
        assert.ok(ports.every(passes));
        assert.ok(!ports.some((port) => passes(port + 1)));
      }
    });
  }

  // What follows does not depend on the hook.
  if (numRuns === 0) return;

  it('never drops what the reference evaluator passes', () => {
    let dropped = 0;
    fc.assert(
      fc.property(situation(), packets(PACKETS), (drawn, others) => {
        const driver = loaded(drawn.policies, settingsOf(drawn), drawn.sourceSets);
        for (const packet of [drawn.packet, ...others]) {
          if (verdict(driver, packet) === 'pass') continue;
          dropped += 1;
          assert.equal(decide(viewOf(drawn), packet, STATE).action, 'drop');
        }
      }),
      { numRuns },
    );
    assert.ok(dropped > numRuns / 10, `only ${dropped} of the packets were dropped`);
  });

  it('drops everything that stateless rules deny', () => {
    fc.assert(
      fc.property(situation(), packets(PACKETS), (situation, others) => {
        const policies = situation.policies.map((one) => ({ ...one, ...ONLY_RULES }));
        const drawn = { ...situation, policies };
        const denied = [drawn.packet, ...others].filter(
          (packet) =>
            !mustPassOn(packet, drawn) && decide(viewOf(drawn), packet, STATE).action === 'drop',
        );
        fc.pre(denied.length > 0);
        const driver = loaded(policies, settingsOf(drawn), drawn.sourceSets);
        for (const packet of denied) assert.equal(verdict(driver, packet), 'drop');
      }),
      { numRuns },
    );
  });

  it('changes one address and no others', () => {
    const others = Array.from({ length: 50 }, (_, index) =>
      denyAll(`203.0.113.${index + 100}`, []),
    );
    const driver = loaded([denyAll(V4.server, [allowPort('udp', 1)]), ...others]);
    driver.change([compileEarly(denyAll(V4.server, [allowPort('udp', 2)]))], ['203.0.113.100']);
    const passes = (to: string, port: number) =>
      verdict(driver, udpPacket(V4.client, to, port)) === 'pass';
    assert.deepEqual([passes(V4.server, 1), passes(V4.server, 2)], [false, true]);
    assert.deepEqual([passes('203.0.113.100', 9), passes('203.0.113.101', 9)], [true, false]);
  });

  it('evaluates each of many scattered addresses by its own rules while others are added, changed and removed', () => {
    const many = Array.from({ length: 700 }, (_, index) => scattered(index));
    const portOf = (index: number, round: number) => 1000 + 10 * index + round;
    const policy = (index: number, round: number) =>
      denyAll(many[index] ?? '', [allowPort('udp', portOf(index, round))]);
    const indices = many.map((_, index) => index);
    const first = indices.filter((index) => index < 400);
    const driver = loaded(first.map((index) => policy(index, 0)));
    const [changed, removed, added] = [0, 1, 2].map((rest) =>
      indices.filter((index) => (rest === 2 ? index >= 400 : index < 400 && index % 4 === rest)),
    ) as [number[], number[], number[]];
    driver.change(
      [...changed, ...added].map((index) => compileEarly(policy(index, 1))),
      removed.map((index) => many[index] ?? ''),
    );
    const passes = (index: number, round: number) => {
      const to = many[index] ?? '';
      const client = to.includes(':') ? V6.client : V4.client;
      return verdict(driver, udpPacket(client, to, portOf(index, round))) === 'pass';
    };
    for (const index of indices) {
      const expected = removed.includes(index)
        ? [true, true]
        : [...changed, ...added].includes(index)
          ? [false, true]
          : [true, false];
      assert.deepEqual([passes(index, 0), passes(index, 1)], expected, many[index]);
    }
  });

  it('evaluates many sources of an address correctly', () => {
    for (const [{ server, client }, network, inside] of [
      [V4, (index: number) => `10.${index}.0.0/16`, (index: number) => `10.${index}.7.7`],
      [
        V6,
        (index: number) => `2001:db8:${index + 100}::/48`,
        (index: number) => `2001:db8:${index + 100}::7`,
      ],
    ] as const) {
      for (const count of [3, 40]) {
        const allowed = Array.from({ length: count }, (_, index) => allowFrom(network(index)));
        const driver = loaded([denyAll(server, allowed)]);
        const passes = (source: string) => verdict(driver, udpPacket(source, server, 9)) === 'pass';
        for (let index = 0; index < count; index++) assert.ok(passes(inside(index)), inside(index));
        assert.ok(!passes(inside(count)));
        assert.ok(!passes(client));
      }
    }
  });

  it('drops packets to a closed port of an otherwise open address, except allowed sources and management', () => {
    for (const { client, server } of [V4, V6]) {
      const driver = loaded([openBut(server, [], client)]);
      const other = client.replace(/9$/, '8');
      const passes = (source: string, port: number) =>
        verdict(driver, udpPacket(source, server, port)) === 'pass';
      driver.change([compileEarly(openBut(server, [17, 19], client))], []);
      assert.deepEqual(
        [17, 18, 19].map((port) => passes(other, port)),
        [false, true, false],
      );
      assert.deepEqual(
        [17, 18, 19].map((port) => passes(client, port)),
        [true, true, true],
      );
      driver.configure({ ...SETTINGS, management: [{ protocol: 'udp', port: 17 }] });
      assert.deepEqual([passes(other, 17), passes(other, 19)], [true, false]);
      const counted = driver.counts().map(({ reason, packets }) => [reason, packets]);
      assert.deepEqual(counted, [['rules', 3]]);
    }
  });

  it('grows when more addresses are added than its maps hold', () => {
    const driver = loaded([denyAll(V4.server, [])]);
    const many = Array.from({ length: 2_000 }, (_, index) =>
      denyAll(`198.18.${index >> 8}.${index & 255}`, [allowPort('tcp', 80)]),
    );
    driver.change(many.map(compileEarly), []);
    for (const target of [V4.server, '198.18.0.0', '198.18.7.207']) {
      assert.equal(verdict(driver, udpPacket(V4.client, target, 9)), 'drop', target);
    }
  });
}

function allowFrom(source: string): PolicyRule {
  return { ref: 'rule:1', action: 'allow', protocol: 'any', port: null, source };
}
/** These UDP ports are closed except for the friend. */
function openBut(target: string, ports: readonly number[], friend: string): Policy {
  const closed = ports.map((port): PolicyRule => {
    return { ref: `rule:${port}`, action: 'deny', protocol: 'udp', port, source: null };
  });
  return { ...denyAll(target), rules: [allowFrom(friend), ...closed] };
}

/** Spread over both families, some of them neighbours. */
function scattered(index: number): string {
  const drawn = Math.imul(index + 1, 0x9e3779b1) >>> 0;
  const [high, low] = [drawn >>> 16, index % 3 === 0 ? index & 0xff : drawn & 0xffff];
  return index % 2 === 0
    ? `100.${64 + (high & 63)}.${low >> 8}.${low & 255}`
    : `2001:db8:5:${high.toString(16)}::${(low + 1).toString(16)}`;
}

/** States without properties that a single packet does not show. */
const STATE = {
  returnTraffic: false,
  icmpWithinRate: true,
  fragmentsWithinLimit: true,
  answered: false,
  aboveLimit: [],
  // As a frame carries it, of a source that no reply has validated.
  filtered: {
    payload: Buffer.alloc(16),
    validated: false,
    established: true,
    opened: true,
    above: [],
  },
} as const;

function settingsOf({ settings }: Situation): Partial<EarlySettings> {
  return { keepReplies: settings.sees === 'both', management: settings.management };
}

function viewOf({ settings, policies, sourceSets }: Situation): EdgeView {
  return { settings, policies: createPolicyTable(policies), sourceSets };
}

/** The packets that early drop leaves to nftables for any rules. */
function mustPassOn(packet: Packet, { settings }: Situation): boolean {
  const { family, protocol, destinationPort } = packet;
  const managed = settings.management.some(
    (one) => one.port === destinationPort && protocolNumber(one.protocol, family) === protocol,
  );
  const message = packet.icmp !== null && ![0, 8, 128, 129].includes(packet.icmp.type);
  return packet.fragment !== 'none' || managed || message;
}

const V4 = {
  family: 4,
  client: '192.0.2.9',
  server: '203.0.113.10',
  neighbour: '198.51.100.77',
} as const;
const V6 = {
  family: 6,
  client: '2001:db8:c::9',
  server: '2001:db8:5::10',
  neighbour: '2001:db8:5::77',
} as const;

function tcp(source: string, destination: string, port: number): Packet {
  return { ...udpPacket(source, destination, port), protocol: 6 };
}

function icmp(source: string, destination: string, type: number): Packet {
  const packet = udpPacket(source, destination, 0);
  const protocol = packet.family === 4 ? 1 : 58;
  return { ...packet, protocol, sourcePort: null, destinationPort: null, icmp: { type, code: 1 } };
}

function flowOf(packet: Packet): Flow {
  const bytes = (text: string): Buffer => {
    const parsed = parseAddress(text);
    if (!parsed.ok) throw new Error(parsed.reason);
    return addressBytes(parsed.value);
  };
  return {
    family: packet.family,
    protocol: packet.protocol,
    local: bytes(packet.destination),
    remote: bytes(packet.source),
    localPort: packet.destinationPort ?? 0,
    remotePort: packet.sourcePort ?? 0,
  };
}

function verdict(driver: EarlyDropDriver, packet: Packet, options?: FrameOptions): string {
  return driver.evaluate(frameOf(packet, options), DEVICE);
}
