import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CLIENT, SERVER } from '../internet.ts';
import { missing } from '../requirements.ts';
import { Path } from '../wire/path.ts';
import type { ProbePacket } from '../wire/probe.ts';
import { TcpEnd } from '../wire/tcp-end.ts';
import { buildGround, eventually, type Ground, whyNot } from './ground.ts';

const FAMILIES = [4, 6] as const;
const SERVICE = 27_015;
const REAL_SERVICE = 27_100;
const ROUNDS = 10;

const lacking = whyNot() || missing(['conntrack']);
if (lacking !== null && process.env['PORTCULLIS_TEST_REQUIRE'] === 'all') {
  throw new Error(`these tests may not be skipped here, and cannot run: ${lacking}`);
}

let ground: Ground;
/** What leaves by the server's side is not judged: to the client everything passes. */
let back: Path;

for (const earlyDrop of [false, true]) {
  describe(`flows that a change of policy finds under way, ${earlyDrop ? 'with' : 'without'} early drop`, {
    skip: lacking ?? false,
  }, () => {
    before(async () => {
      ground = await buildGround(`established-${earlyDrop ? 'early' : 'late'}`, { earlyDrop });
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
          if (protocol === 'udp') assert.deepEqual(begunBy(family, 41_000), [CLIENT[family]]);
          await stack.api.deleteRules(SERVER[family], ids);
        }
      });
    }

    it('tcp: neither end of a connection that became denied hears the other again', async () => {
      const { stack, internet } = ground;
      for (const family of FAMILIES) {
        await TcpEnd.serve(internet.server, SERVER[family], REAL_SERVICE);
        const client = await TcpEnd.connect(internet.client, SERVER[family], REAL_SERVICE);
        assert.ok(client !== null);
        assert.equal(await client.ask(), 'echo');
        const deny = {
          action: 'deny',
          protocol: 'tcp',
          destination_port: `${REAL_SERVICE}`,
        } as const;
        const ids = await stack.api.createRule(SERVER[family], deny);
        assert.equal(await client.ask(), 'silent');
        await stack.api.deleteRules(SERVER[family], ids);
      }
    });

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
}

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

/**
 * Who began the flows of UDP to the server that connection tracking remembers of a port of the client. Without the
 * entry that says so the server's next packet would turn the flow round.
 */
function begunBy(family: 4 | 6, clientPort: number): string[] {
  const kind = family === 4 ? 'ipv4' : 'ipv6';
  const listed = ground.internet.edge.run('conntrack', '-L', '-f', kind, '-p', 'udp');
  return listed
    .split('\n')
    .filter((line) => line.includes(`=${SERVER[family]} `) && line.includes(`port=${clientPort} `))
    .map((line) => /src=(\S+)/.exec(line)?.[1] ?? '');
}
