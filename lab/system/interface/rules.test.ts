import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { NewRule } from '../../stack/api-client.ts';
import { CLIENT, SERVER } from '../../stack/internet.ts';
import type { ProbePacket } from '../../wire/probe.ts';
import { startStackFixture, type StackFixture, packet, whyNot } from '../stack-fixture.ts';

/** A rule, packets whose verdict it changes, and packets that it must not touch. */
interface Case {
  readonly name: string;
  readonly rule: NewRule;
  readonly hit: () => readonly ProbePacket[];
  readonly missed: () => readonly ProbePacket[];
}

let fixture: StackFixture;

describe('a rule on the wire', { skip: whyNot() }, () => {
  before(async () => {
    fixture = await startStackFixture('rules');
  });
  after(() => fixture.stop());

  for (const family of [4, 6] as const) {
    for (const one of casesOf(family)) {
      it(`IPv${family}: ${one.name} changes the verdict of its packets, and back when deleted`, async () => {
        await expectAll([...one.hit(), ...one.missed()], true);
        const ids = await fixture.stack.api.createRule(SERVER[family], one.rule);
        await expectAll(one.hit(), false);
        await expectAll(one.missed(), true);
        await fixture.stack.api.deleteRules(SERVER[family], ids);
        await expectAll(one.hit(), true);
      });
    }

    it(`IPv${family}: an allow opens one port to one source of an address that denies everything`, async () => {
      const { api } = fixture.stack;
      const deny = await api.createRule(SERVER[family], { action: 'deny', protocol: 'any' });
      await expectAll([packet(family, 'udp'), packet(family, 'tcp'), packet(family, 'gre')], false);
      const allow = await api.createRule(SERVER[family], {
        action: 'allow',
        protocol: 'udp',
        destination_port: '27015',
        source_ip: otherHost(family),
      });
      await expectAll([packet(family, 'udp', { source: otherHost(family) })], true);
      await expectAll(
        [
          packet(family, 'udp'),
          packet(family, 'tcp', { source: otherHost(family) }),
          packet(family, 'udp', { source: otherHost(family), destinationPort: 27_016 }),
        ],
        false,
      );
      await api.deleteRules(SERVER[family], [...deny, ...allow]);
      await expectAll([packet(family, 'udp'), packet(family, 'tcp')], true);
    });
  }
});

function casesOf(family: 4 | 6): Case[] {
  const udp = (destinationPort: number, more: Partial<ProbePacket> = {}): ProbePacket =>
    packet(family, 'udp', { destinationPort, ...more });
  const deny = (protocol: string, port?: string, source?: string): NewRule => ({
    action: 'deny',
    protocol,
    ...(port === undefined ? {} : { destination_port: port }),
    ...(source === undefined ? {} : { source_ip: source }),
  });
  const icmp = family === 4 ? 'icmp' : 'icmpv6';
  const host = otherHost(family);
  const network = family === 4 ? '192.0.2.64/26' : '2001:db8:c::40/122';
  return [
    {
      name: 'a single udp port',
      rule: deny('udp', '27015'),
      hit: () => [udp(27_015), udp(27_015, { fragments: 3 })],
      missed: () => [
        udp(27_016),
        udp(27_016, { fragments: 3 }),
        packet(family, 'tcp'),
        packet(family, 'gre'),
      ],
    },
    {
      name: 'a range of udp ports',
      rule: deny('udp', '7000-7010'),
      hit: () => [udp(7_000), udp(7_005), udp(7_010)],
      missed: () => [udp(6_999), udp(7_011)],
    },
    {
      name: 'a list of tcp ports',
      rule: deny('tcp', '80, 443,8000-8001'),
      hit: () =>
        [80, 443, 8_000, 8_001].map((destinationPort) =>
          packet(family, 'tcp', { destinationPort }),
        ),
      missed: () => [packet(family, 'tcp', { destinationPort: 81 }), udp(443)],
    },
    {
      name: 'any tcp port',
      rule: deny('tcp'),
      hit: () => [
        packet(family, 'tcp', { destinationPort: 1 }),
        packet(family, 'tcp', { destinationPort: 65_535 }),
      ],
      missed: () => [udp(1)],
    },
    {
      name: 'icmp',
      rule: deny('icmp'),
      hit: () => [packet(family, icmp)],
      missed: () => [udp(27_015)],
    },
    {
      name: 'gre',
      rule: deny('gre'),
      hit: () => [packet(family, 'gre')],
      missed: () => [packet(family, 'esp')],
    },
    {
      name: 'esp',
      rule: deny('esp'),
      hit: () => [packet(family, 'esp')],
      missed: () => [packet(family, 'gre')],
    },
    {
      name: 'any protocol of one host',
      rule: deny('any', undefined, host),
      hit: () =>
        (['udp', 'tcp', icmp, 'gre', 'esp', 'sctp'] as const).map((one) =>
          packet(family, one, { source: host }),
        ),
      missed: () => [packet(family, 'udp'), packet(family, 'sctp')],
    },
    {
      name: 'a udp port of a network',
      rule: deny('udp', '27015', network),
      hit: () => [udp(27_015, { source: host })],
      missed: () => [udp(27_015), udp(27_016, { source: host })],
    },
  ];
}

/** In the network of the CIDR case; `CLIENT[family]` is not. */
function otherHost(family: 4 | 6): string {
  return family === 4 ? CLIENT.others[0] : CLIENT.others[3];
}

async function expectAll(packets: readonly ProbePacket[], passes: boolean): Promise<void> {
  for (const one of packets) {
    assert.equal(await fixture.through.passes(one), passes, JSON.stringify(one));
  }
}
