import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CLIENT, createInternet, SENTINELS, SERVER } from '../stack/internet.ts';
import { require } from '../requirements.ts';
import { Path } from './path.ts';
import { PROTOCOL, Probe, type ProbePacket } from './probe.ts';

it('the lab sees every kind of packet pass, and be dropped when nft says so', async (t) => {
  if (!require(t, ['root', 'netns', 'nft', 'python3'])) return;
  const internet = createInternet('path');
  t.after(() => internet.destroy());
  const from = await new Probe(internet.client).started();
  t.after(() => from.stop());
  const to = await new Probe(internet.server).started();
  t.after(() => to.stop());
  const path = new Path(from, to, SENTINELS.server);

  const packets = [4, 6].flatMap((family) => everyKind(family === 4 ? 4 : 6));
  for (const packet of packets)
    assert.equal(await path.passes(packet), true, describePacket(packet));
  internet.edge.run(
    'nft',
    `table inet t {
      chain c {
        type filter hook forward priority 0
        ip daddr ${SERVER[4]} drop
        ip6 daddr ${SERVER[6]} drop
      }
    }`,
  );
  for (const packet of packets)
    assert.equal(await path.passes(packet), false, describePacket(packet));
});

function everyKind(family: 4 | 6): ProbePacket[] {
  const ends = { source: CLIENT[family], destination: SERVER[family] };
  const icmp = family === 4 ? ('icmp' as const) : ('icmpv6' as const);
  return [
    { ...ends, protocol: 'udp', sourcePort: 1111, destinationPort: 2222 },
    { ...ends, protocol: 'udp', sourcePort: 1112, destinationPort: 2222, fragments: 3 },
    { ...ends, protocol: 'tcp', sourcePort: 1113, destinationPort: 2222 },
    { ...ends, protocol: icmp, icmp: [family === 4 ? 8 : 128, 0] },
    { ...ends, protocol: 'gre' },
    { ...ends, protocol: 'esp' },
    { ...ends, protocol: 'sctp', sourcePort: 1114, destinationPort: 2222 },
  ];
}

function describePacket(packet: ProbePacket): string {
  return `${packet.protocol} (${PROTOCOL[packet.protocol]}) to ${packet.destination} in ${packet.fragments ?? 1}`;
}
