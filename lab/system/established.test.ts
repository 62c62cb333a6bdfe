import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CLIENT, SERVER } from '../internet.ts';
import { Path } from '../wire/path.ts';
import type { ProbePacket } from '../wire/probe.ts';
import { buildGround, eventually, type Ground, whyNot } from './ground.ts';

const FAMILIES = [4, 6] as const;
const SERVICE = 27_015;
const ROUNDS = 10;

let ground: Ground;
/** What leaves by the server's side is not judged: to the client everything passes. */
let back: Path;

describe('flows that a change of policy finds under way', { skip: whyNot() }, () => {
  before(async () => {
    ground = await buildGround('established');
    back = new Path(ground.server, ground.client, { 4: CLIENT[4], 6: CLIENT[6] });
  });
  after(() => ground.stop());

  for (const protocol of ['udp', 'tcp'] as const) {
    it(`${protocol}: stop when they become denied, also while the server goes on sending`, async () => {
      const { through, stack } = ground;
      for (const family of FAMILIES) {
        const inbound = flow(family, protocol, 41_000, SERVICE);
        assert.equal(await through.passes(inbound), true);
        for (let round = 0; round < 3; round++) {
          assert.equal(await back.passes(reversed(inbound)), true);
          assert.equal(await through.passes(inbound), true);
        }
        const deny = { action: 'deny', protocol, destination_port: String(SERVICE) } as const;
        const ids = await stack.api.createRule(SERVER[family], deny);
        await stack.api.enforced(SERVER[family]);
        await eventually('it is denied', async () => !(await through.passes(inbound)));
        for (let round = 0; round < ROUNDS; round++) {
          assert.equal(await back.passes(reversed(inbound)), true);
          assert.equal(await through.passes(inbound), false, `IPv${family}, round ${round}`);
        }
        assert.ok(ids.length > 0);
      }
    });
  }

  it('go on where the protected host opened them, whatever is denied', async () => {
    const { through, stack } = ground;
    for (const family of FAMILIES) {
      const inbound = flow(family, 'udp', 42_000, 42_001);
      assert.equal(await back.passes(reversed(inbound)), true);
      await stack.api.createRule(SERVER[family], { action: 'deny', protocol: 'any' });
      await stack.api.enforced(SERVER[family]);
      const stranger = flow(family, 'udp', 42_002, 42_001);
      await eventually('everything is denied', async () => !(await through.passes(stranger)));
      for (let round = 0; round < ROUNDS; round++) {
        assert.equal(await through.passes(inbound), true);
        assert.equal(await through.passes(stranger), false);
      }
    }
  });
});

/** A packet of the client to the server. */
function flow(family: 4 | 6, protocol: 'udp' | 'tcp', from: number, to: number): ProbePacket {
  return {
    source: CLIENT[family],
    destination: SERVER[family],
    protocol,
    sourcePort: from,
    destinationPort: to,
  };
}

/** The same flow the other way. */
function reversed({
  source,
  destination,
  protocol,
  sourcePort = 0,
  destinationPort = 0,
}: ProbePacket): ProbePacket {
  return {
    source: destination,
    destination: source,
    protocol,
    sourcePort: destinationPort,
    destinationPort: sourcePort,
  };
}
