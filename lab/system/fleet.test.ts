import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { CLIENT, SERVER } from '../internet.ts';
import { defaultFleet } from '../stack.ts';
import { buildGround, type Ground, packet, whyNot } from './ground.ts';

let ground: Ground;
/** In 8.8.8.0/24, which the shipped data gives to AS15169. */
const google = CLIENT.others[2];

describe('the fleet file on the wire', { skip: whyNot() }, () => {
  before(async () => {
    ground = await buildGround('fleet');
  });
  after(() => ground.stop());

  it('a group rule and a geo rule on an address drop, until the file no longer has them', async () => {
    const udp19 = () => packet(4, 'udp', { destinationPort: 19 });
    const fromGoogle = () => packet(4, 'udp', { source: google });
    await expect([udp19(), fromGoogle()], true);
    await apply(`    groups:
      - { name: baseline, rules: [{ action: deny, protocol: udp, destination_port: "19" }], addresses: [${SERVER[4]}] }
    geo_rules:
      - { action: deny, asns: [15169], addresses: [${SERVER[4]}] }
`);
    await expect([udp19(), fromGoogle()], false);
    await expect([packet(4, 'udp')], true);
    await apply('');
    await expect([udp19(), fromGoogle()], true);
  });

  it('a rule on a prefix judges every address of it', async () => {
    const neighbour = SERVER.neighbours[0];
    const denied = () => packet(4, 'udp', { destination: neighbour, destinationPort: 19 });
    await apply(`    groups:
      - { name: prefix, rules: [{ action: deny, protocol: udp, destination_port: "19" }], addresses: [203.0.113.0/24] }
`);
    await expect([denied(), packet(4, 'udp', { destinationPort: 19 })], false);
    await expect([packet(4, 'udp', { destination: neighbour })], true);
    await apply('');
    await expect([denied()], true);
  });
});

async function apply(below: string): Promise<void> {
  const { stack } = ground;
  writeFileSync(stack.fleetFile, defaultFleet().replace('edges:\n', `${below}edges:\n`));
  const applied = JSON.parse(await stack.command('fleet', 'apply', stack.fleetFile, '--json')) as {
    readonly generation: number | null;
  };
  if (applied.generation !== null) await stack.api.liveAt(SERVER[4], applied.generation);
}

async function expect(
  packets: readonly ReturnType<typeof packet>[],
  passes: boolean,
): Promise<void> {
  for (const one of packets) {
    assert.equal(await ground.through.passes(one), passes, JSON.stringify(one));
  }
}
