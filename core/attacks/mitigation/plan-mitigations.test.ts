import { EMPTY_POLICY } from '../../firewall/policy.ts';
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { decide } from '../../firewall/decide/decide.ts';
import { FIRST_PACKET } from '../../firewall/decide/first-packet.ts';
import type { Packet } from '../../firewall/packet.ts';
import type { Policy } from '../../firewall/policy.ts';
import { createPolicyTable } from '../../firewall/policy-table.ts';
import { describeAction, type MitigationAction, renderAction } from './actions.ts';
import type { AttackType } from '../attack.ts';
import { type AttackTops, MAX_ACTIONS, planMitigations } from './plan-mitigations.ts';
import { REFLECTORS, type Reflector } from '../vectors.ts';

const SUBJECT = '203.0.113.10';
const GAME = 27_015;
const CONTEXT = { thresholds: { pps: 20_000 } };
const NO_TOPS: AttackTops = { sources: [], sourcePorts: [], destinationPorts: [] };
const REFLECTED = (Object.keys(REFLECTORS) as Reflector[]).map(
  (name) => `${name}_amplification` as const,
);
const TYPES: readonly AttackType[] = [
  'udp_flood',
  'tcp_syn_flood',
  'tcp_syn_ack_flood',
  'tcp_ack_flood',
  'tcp_rst_flood',
  'icmp_flood',
  'gre_flood',
  'ip_fragment_flood',
  'other_flood',
  ...REFLECTED,
];

function planned(type: AttackType, tops: AttackTops | null = null, subject = SUBJECT) {
  return planMitigations({ type, shares: [{ type, share: 1 }], subject }, tops, CONTEXT);
}

function policyOf(actions: readonly MitigationAction[], safelist: readonly string[] = []): Policy {
  const rendered = actions.map((action, index) =>
    renderAction(action, { ref: `mitigation:${index}`, mode: 'enforce', safelist }),
  );
  return {
    ...EMPTY_POLICY,
    target: SUBJECT,
    mitigations: rendered.flatMap((one) => (one.part === 'mitigation' ? [one.value] : [])),
    filters: rendered.flatMap((one) => (one.part === 'filter' ? [one.value] : [])),
  };
}

/** Evaluated with every rate limit exhausted, by an edge that sees both directions. */
function evaluate(policy: Policy, packet: Packet, answered: boolean): 'pass' | 'drop' {
  const settings = {
    localAddresses: [],
    management: [],
    sees: 'both',
    fragments: 'limit',
  } as const;
  const view = {
    settings,
    policies: createPolicyTable([policy]),
    sourceSets: { version: '1', sets: {} },
  };
  const aboveLimit = policy.mitigations.map(({ ref }) => ref);
  return decide(view, packet, { ...FIRST_PACKET, answered, aboveLimit }).action;
}

function packetFrom(source: string, protocol: number, sourcePort: number, port: number): Packet {
  return {
    family: 4,
    source,
    destination: SUBJECT,
    protocol,
    sourcePort,
    destinationPort: port,
    icmp: null,
    hopLimit: 64,
    fragment: 'none',
  };
}

const tops: fc.Arbitrary<AttackTops> = fc.record({
  sources: fc.array(fc.record({ source: fc.ipV4(), packets: fc.nat(10_000) }), { maxLength: 10 }),
  sourcePorts: fc.array(fc.record({ port: fc.nat(65_535), packets: fc.nat(10_000) }), {
    maxLength: 10,
  }),
  destinationPorts: fc.array(fc.record({ port: fc.nat(65_535), packets: fc.nat(10_000) }), {
    maxLength: 10,
  }),
});
const type = fc.constantFrom(...TYPES);
const attack = fc.record({
  type: fc.constantFrom<AttackType>(...TYPES, 'multi_vector'),
  shares: fc.uniqueArray(fc.record({ type, share: fc.double({ min: 0, max: 1, noNaN: true }) }), {
    maxLength: 5,
  }),
  subject: fc.constantFrom(SUBJECT, '203.0.113.0/24', '2001:db8::1', '2001:db8::/48'),
});

function ratesOf(actions: readonly MitigationAction[], per: string): number[] {
  return actions.flatMap((one) =>
    one.kind === 'limit' && one.limit.per === per ? [one.limit.pps] : [],
  );
}

describe('the mitigation plan of an attack', () => {
  it('is bounded, deterministic and without duplicates', () => {
    fc.assert(
      fc.property(attack, tops, (one, seen) => {
        const actions = planMitigations(one, seen, CONTEXT);
        assert.ok(actions.length <= MAX_ACTIONS);
        assert.equal(new Set(actions.map((action) => JSON.stringify(action))).size, actions.length);
        assert.deepEqual(planMitigations(one, seen, CONTEXT), actions);
        for (const action of actions) assert.match(describeAction(action), /^\S.*[^.]$/);
      }),
    );
  });

  it('never drops answered TCP players, for any attack and with every rate limit exhausted', () => {
    fc.assert(
      fc.property(attack, tops, fc.ipV4(), fc.nat(65_535), (one, seen, source, port) => {
        const policy = policyOf(planMitigations({ ...one, subject: SUBJECT }, seen, CONTEXT));
        assert.equal(evaluate(policy, packetFrom(source, 6, port, GAME), true), 'pass');
      }),
      { numRuns: 1000 },
    );
  });

  it('never drops answered UDP players, except floods and packets from a reflector’s port', () => {
    const own = fc.integer({ min: 12_000, max: 65_535 });
    fc.assert(
      fc.property(attack, tops, fc.ipV4(), own, (one, seen, source, port) => {
        const flooding = seen.sources.some((top) => top.source === source);
        fc.pre(!flooding);
        const actions = planMitigations({ ...one, subject: SUBJECT }, seen, CONTEXT);
        const policy = policyOf(actions);
        // The limit per source counts only its own packets, so it is not exhausted.
        const mine = policy.mitigations.filter(({ limit }) => limit?.per !== 'source');
        const packet = packetFrom(source, 17, port, GAME);
        assert.equal(evaluate({ ...policy, mitigations: mine }, packet, true), 'pass');
      }),
      { numRuns: 1000 },
    );
  });

  it('never touches a safelisted source', () => {
    fc.assert(
      fc.property(
        attack,
        tops,
        fc.constantFrom(1, 6, 17, 47),
        fc.boolean(),
        (one, seen, protocol, answered) => {
          const actions = planMitigations({ ...one, subject: SUBJECT }, seen, CONTEXT);
          const policy = policyOf(actions, ['198.51.100.0/24']);
          const packet = packetFrom('198.51.100.7', protocol, 53, GAME);
          assert.equal(evaluate(policy, packet, answered), 'pass');
        },
      ),
    );
  });

  it('drops only answers of the reflector of the attack', () => {
    for (const name of Object.keys(REFLECTORS) as Reflector[]) {
      const policy = policyOf(planned(`${name}_amplification`));
      for (const [other, port] of Object.entries(REFLECTORS)) {
        const action = evaluate(policy, packetFrom('192.0.2.1', 17, port, 40_000), false);
        assert.equal(action, other === name ? 'drop' : 'pass');
      }
      const later = {
        ...packetFrom('192.0.2.1', 17, 0, 0),
        sourcePort: null,
        destinationPort: null,
      };
      assert.equal(evaluate(policy, { ...later, fragment: 'later' }, false), 'drop');
    }
  });

  it('limits unknown sources of every flood, but at a port with a SYN proxy, which admits real clients', () => {
    const aimed = { ...NO_TOPS, destinationPorts: [{ port: GAME, packets: 5000 }] };
    const protocols = { udp_flood: 17, icmp_flood: 1, gre_flood: 47, other_flood: 132 } as const;
    for (const [flood, protocol] of Object.entries(protocols)) {
      const policy = policyOf(planned(flood as AttackType, aimed));
      const packet = packetFrom('192.0.2.1', protocol, 40_000, GAME);
      assert.equal(evaluate(policy, packet, false), 'drop', flood);
    }
    for (const flood of [
      'tcp_syn_flood',
      'tcp_ack_flood',
      'tcp_rst_flood',
      'tcp_syn_ack_flood',
    ] as const) {
      const first = planned(flood);
      const packet = packetFrom('192.0.2.1', 6, 40_000, GAME);
      assert.equal(evaluate(policyOf(first), packet, false), 'drop');
      // Also where the limit was there before the port was known: it would exclude clients that the proxy admits.
      const policy = policyOf([...new Set([...first, ...planned(flood, aimed)])]);
      assert.deepEqual(
        policy.filters.map((one) => [one.type, one.port, one.managed]),
        [['tcp-syn-proxy', GAME, true]],
      );
      assert.equal(evaluate(policy, packet, false), 'pass');
      assert.equal(evaluate(policy, { ...packet, destinationPort: GAME + 1 }, false), 'drop');
      const own = {
        ...policyOf(first),
        filters: policy.filters.map((one) => ({ ...one, ref: 'filter:1' })),
      };
      assert.equal(evaluate(own, packet, false), 'pass', 'a proxy of the holder');
    }
  });

  it('drops the few sources of a flood, but no forged sources', () => {
    const few = {
      sources: [
        { source: '192.0.2.1', packets: 6000 },
        { source: '192.0.2.2', packets: 3000 },
        { source: '192.0.2.3', packets: 90 },
      ],
      sourcePorts: [],
      destinationPorts: [{ port: GAME, packets: 9800 }],
    };
    const named = planned('udp_flood', few).flatMap((one) =>
      one.kind === 'source' ? one.source : [],
    );
    assert.deepEqual(named, ['192.0.2.1', '192.0.2.2']);
    const forged = {
      ...few,
      sources: Array.from({ length: 10 }, (_, index) => ({
        source: `192.0.2.${index}`,
        packets: 2,
      })),
    };
    assert.ok(
      planned('icmp_flood', { ...forged, destinationPorts: [] }).every(
        ({ kind }) => kind !== 'source',
      ),
    );
    assert.ok(planned('udp_flood', forged).every(({ kind }) => kind !== 'source'));
  });

  it('names no source and no target port from too few samples', () => {
    // A flood of forged sources to all ports, in 250 samples of 64 packets each: the top sources are players.
    const players = Array.from({ length: 10 }, (_, index) => ({
      source: `192.0.2.${index}`,
      packets: 2 * 64,
    }));
    const ports = [GAME, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((port) => ({
      port,
      packets: port === GAME ? 20 * 64 : 2 * 64,
    }));
    const spread: AttackTops = {
      sampled: { samples: 250, packets: 250 * 64 },
      sources: players,
      sourcePorts: [],
      destinationPorts: ports,
    };
    for (const flood of ['udp_flood', 'tcp_syn_flood'] as const) {
      const actions = planned(flood, spread);
      assert.ok(actions.every(({ kind }) => kind !== 'source' && kind !== 'filter'));
      const isHeld = actions.some(
        (one) => one.kind === 'limit' && one.port === null && one.limit.per === 'destination',
      );
      assert.ok(isHeld, `${flood}: whatever port it is sent to`);
    }
    // Each of the first few samples is a large share of the flood.
    const first: AttackTops = {
      sampled: { samples: 9, packets: 9 * 64 },
      sources: players.slice(0, 9).map((one) => ({ ...one, packets: 64 })),
      sourcePorts: [],
      destinationPorts: ports.slice(0, 9).map((one) => ({ ...one, packets: 64 })),
    };
    assert.deepEqual(
      planned('udp_flood', first).map(({ kind }) => kind),
      ['limit', 'limit'],
    );
    const loud = [{ source: '192.0.2.66', packets: 24 * 64 }, ...players.slice(1)];
    assert.deepEqual(
      planned('udp_flood', { ...spread, sources: loud }).flatMap((one) =>
        one.kind === 'source' ? one.source : [],
      ),
      ['192.0.2.66'],
    );
  });

  it('covers every vector of a multi-vector attack', () => {
    const shares = [
      { type: 'dns_amplification' as const, share: 0.5 },
      { type: 'tcp_syn_flood' as const, share: 0.5 },
    ];
    const actions = planMitigations(
      { type: 'multi_vector', shares, subject: SUBJECT },
      null,
      CONTEXT,
    );
    assert.deepEqual(
      actions.map(({ kind }) => kind),
      ['reflector', 'fragments', 'limit'],
    );
  });

  it('applies to the ports of each vector only the filter of its protocol', () => {
    const shares = [
      { type: 'udp_flood' as const, share: 0.5 },
      { type: 'tcp_syn_flood' as const, share: 0.5 },
    ];
    const destinationPorts = [
      { port: GAME, protocol: 'udp', packets: 5000 },
      { port: 443, protocol: 'tcp', packets: 4900 },
    ] as const;
    const actions = planMitigations(
      { type: 'multi_vector', shares, subject: SUBJECT },
      { ...NO_TOPS, destinationPorts },
      CONTEXT,
    );
    assert.deepEqual(
      actions.flatMap((one) => (one.kind === 'filter' ? [[one.type, one.port]] : [])),
      [
        ['udp-stateful', GAME],
        ['tcp-syn-proxy', 443],
      ],
    );
  });

  it('lets no more traffic pass for a prefix than for an address, and not all of it to one address', () => {
    const kinds = ['udp_flood', 'tcp_syn_flood', 'icmp_flood', 'gre_flood', 'other_flood'] as const;
    for (const kind of [...kinds, 'ip_fragment_flood'] as const) {
      const ofAddress = ratesOf(planned(kind, NO_TOPS, '203.0.113.10'), 'destination');
      for (const prefix of ['203.0.113.0/24', '203.0.0.0/16', '2001:db8:5::/48']) {
        const actions = planned(kind, NO_TOPS, prefix);
        assert.deepEqual(ratesOf(actions, 'attack'), ofAddress, `${kind} on ${prefix}`);
        // A flood on one address, too small for its own attack, does not use the whole limit.
        const [each = 0] = ratesOf(actions, 'destination');
        assert.ok(each >= 50 && each < (ofAddress[0] ?? 0), 'a busy server in it has newcomers');
      }
    }
  });

  it('applies no filter to the ports of a whole prefix', () => {
    const aimed = { ...NO_TOPS, destinationPorts: [{ port: GAME, packets: 5000 }] };
    for (const flood of ['tcp_syn_flood', 'udp_flood'] as const) {
      const actions = planned(flood, aimed, '203.0.113.0/24');
      assert.ok(actions.length > 0 && actions.every(({ kind }) => kind !== 'filter'));
    }
  });
});
