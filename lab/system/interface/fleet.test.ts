import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CLIENT, SERVER } from '../../stack/internet.ts';
import { defaultFleet } from '../../stack/stack.ts';
import { startStackFixture, type StackFixture, packet, whyNot } from '../stack-fixture.ts';

let fixture: StackFixture;
const FAMILIES = [4, 6] as const;
/** The shipped data gives these to AS3333 and to the Netherlands. */
const RIPE = { 4: CLIENT.others[2], 6: CLIENT.others[5] } as const;
const BOTH = `${SERVER[4]}, "${SERVER[6]}"`;

describe('the fleet file on the wire', { skip: whyNot() }, () => {
  before(async () => {
    fixture = await startStackFixture('fleet');
  });
  after(() => fixture.stop());

  it('a group rule and a geo rule on an address drop, until the file no longer has them', async () => {
    const udp19 = () => packet(4, 'udp', { destinationPort: 19 });
    const fromRipe = () => packet(4, 'udp', { source: RIPE[4] });
    await expect([udp19(), fromRipe()], true);
    await apply(`    groups:
      - { name: baseline, rules: [{ action: deny, protocol: udp, destination_port: "19" }], addresses: [${SERVER[4]}] }
    geo_rules:
      - { action: deny, asns: [3333], addresses: [${SERVER[4]}] }
`);
    await expect([udp19(), fromRipe()], false);
    await expect([packet(4, 'udp')], true);
    await apply('');
    await expect([udp19(), fromRipe()], true);
  });

  for (const [kind, sets] of [
    ['country', 'countries: [NL]'],
    ['ASN', 'asns: [3333]'],
  ] as const) {
    it(`a geo rule by ${kind} drops its sources with deny and all others with only, in both families`, async () => {
      const inside = () => FAMILIES.map((one) => packet(one, 'udp', { source: RIPE[one] }));
      const outside = () => FAMILIES.map((one) => packet(one, 'udp'));
      await apply(`    geo_rules: [{ action: deny, ${sets}, addresses: [${BOTH}] }]\n`);
      await expect(inside(), false);
      await expect(outside(), true);
      await apply(`    geo_rules: [{ action: only, ${sets}, addresses: [${BOTH}] }]\n`);
      await expect(inside(), true);
      await expect(outside(), false);
      await namedAllowPasses();
    });
  }

  it('a deny among geo rules comes before an only', async () => {
    await apply(`    geo_rules:
      - { action: only, countries: [NL], addresses: [${BOTH}] }
      - { action: deny, asns: [3333], addresses: [${BOTH}] }
`);
    const inside = FAMILIES.map((one) => packet(one, 'udp', { source: RIPE[one] }));
    await expect(inside, false);
    await apply('');
    await expect(inside, true);
  });

  it('a group on a prefix applies to all its addresses, the longest prefix first, in both families', async () => {
    const to = (destination: string): ReturnType<typeof packet> =>
      packet(destination.includes(':') ? 6 : 4, 'udp', { destination, destinationPort: 19 });
    const wide = [SERVER[4], SERVER[6]].map(to);
    const inner = SERVER.neighbours.map(to);
    await apply(`    groups:
      - name: wide
        rules: [{ action: deny, protocol: udp, destination_port: "19" }]
        addresses: [203.0.113.0/24, "2001:db8:5::/48"]
`);
    await expect([...wide, ...inner], false);
    await expect([packet(4, 'udp'), packet(6, 'udp')], true);
    await apply(`    groups:
      - name: wide
        rules: [{ action: deny, protocol: udp, destination_port: "19" }]
        addresses: [203.0.113.0/24, "2001:db8:5::/48"]
      - name: inner
        rules: [{ action: allow, protocol: udp, destination_port: "19" }]
        addresses: [203.0.113.16/28, "2001:db8:5::20/124"]
`);
    await expect(wide, false);
    await expect(inner, true);
    await apply('');
    await expect([...wide, ...inner], true);
  });
});

/** An allow that names a source passes what geo rules would drop. */
async function namedAllowPasses(): Promise<void> {
  const { api } = fixture.stack;
  for (const family of FAMILIES) {
    const allow = { action: 'allow', protocol: 'udp', source_ip: CLIENT[family] } as const;
    const ids = await api.createRule(SERVER[family], allow);
    await expect([packet(family, 'udp')], true);
    await api.deleteRules(SERVER[family], ids);
    await expect([packet(family, 'udp')], false);
  }
}

function apply(below: string): Promise<void> {
  return fixture.stack.applyFleet(defaultFleet().replace('edges:\n', `${below}edges:\n`));
}

async function expect(
  packets: readonly ReturnType<typeof packet>[],
  passes: boolean,
): Promise<void> {
  for (const one of packets) {
    assert.equal(await fixture.through.passes(one), passes, JSON.stringify(one));
  }
}
