import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decide } from '../../firewall/decide/decide.ts';
import { FIRST_PACKET } from '../../firewall/decide/first-packet.ts';
import type { EdgeSettings, PacketState } from '../../firewall/packet.ts';
import { EMPTY_POLICY, type Mitigation } from '../../firewall/policy.ts';
import { createPolicyTable } from '../../firewall/policy-table.ts';
import {
  describeAction,
  describeMitigation,
  type MitigationAction,
  renderAction,
} from './actions.ts';

const TARGET = '203.0.113.10';
const PLAYER = '198.51.100.7';
const NUMBERS = { udp: 17, tcp: 6, gre: 47 } as const;
type Protocol = keyof typeof NUMBERS;

function mitigationOf(action: MitigationAction): Mitigation {
  const rendered = renderAction(action, { ref: 'mitigation:1', mode: 'enforce', safelist: [] });
  assert.ok(rendered.part === 'mitigation');
  return rendered.value;
}

function evaluate(
  action: MitigationAction,
  protocol: Protocol,
  state: Partial<PacketState>,
  sees: EdgeSettings['sees'] = 'both',
): 'pass' | 'drop' {
  const policy = { ...EMPTY_POLICY, target: TARGET, mitigations: [mitigationOf(action)] };
  const settings = { localAddresses: [], management: [], sees, fragments: 'limit' } as const;
  const edge = {
    settings,
    policies: createPolicyTable([policy]),
    sourceSets: { version: '', sets: {} },
  };
  const hasPorts = protocol !== 'gre';
  const packet = {
    family: 4,
    source: PLAYER,
    destination: TARGET,
    protocol: NUMBERS[protocol],
    sourcePort: hasPorts ? 40_000 : null,
    destinationPort: hasPorts ? 27_015 : null,
    icmp: null,
    hopLimit: 64,
    fragment: 'none',
  } as const;
  return decide(edge, packet, { ...FIRST_PACKET, ...state }).action;
}

const ABOVE = { aboveLimit: ['mitigation:1'] };

describe('a source that an attack names, whose address may be forged', () => {
  const named = (protocol: Protocol) => ({ kind: 'source', source: PLAYER, protocol }) as const;

  it('is dropped, except what the protected host has answered, of every protocol', () => {
    for (const protocol of ['udp', 'tcp', 'gre'] as const) {
      assert.equal(evaluate(named(protocol), protocol, {}), 'drop');
      assert.equal(evaluate(named(protocol), protocol, { answered: true }), 'pass', protocol);
    }
  });

  it('has a rate for what was answered, but for TCP', () => {
    const above = { answered: true, ...ABOVE };
    assert.equal(evaluate(named('udp'), 'udp', above), 'drop');
    assert.equal(evaluate(named('gre'), 'gre', above), 'drop');
    assert.equal(evaluate(named('tcp'), 'tcp', above), 'pass');
  });

  it('has that rate for everything where answers are not seen', () => {
    assert.equal(evaluate(named('udp'), 'udp', {}, 'inbound'), 'pass');
    assert.equal(evaluate(named('udp'), 'udp', ABOVE, 'inbound'), 'drop');
    assert.equal(evaluate(named('tcp'), 'tcp', ABOVE, 'inbound'), 'pass');
  });

  it('is described with the rate', () => {
    assert.equal(
      describeAction(named('udp')),
      'UDP from 198.51.100.7 is dropped, except answered flows up to 250 packets/s each',
    );
    assert.equal(
      describeAction(named('tcp')),
      'TCP from 198.51.100.7 is dropped, except answered connections',
    );
    assert.equal(
      describeMitigation(mitigationOf(named('udp'))),
      'drops UDP from 198.51.100.7 from unanswered sources, and limits answered flows to 250 packets/s each',
    );
  });
});

it('limits each source of UDP without counting forged packets against what was answered', () => {
  const limit = { per: 'source', pps: 2000, unansweredOnly: false } as const;
  const action = { kind: 'limit', protocol: 'udp', port: null, fragment: 'any', limit } as const;
  assert.deepEqual(mitigationOf(action).limit, {
    ...limit,
    unansweredOnly: true,
    answeredPps: 2000,
  });
  for (const sees of ['both', 'inbound'] as const)
    assert.equal(evaluate(action, 'udp', ABOVE, sees), 'drop');
});
