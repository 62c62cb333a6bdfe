import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { NewRule } from '../stack/api-client.ts';
import { CLIENT, CONTAINER, HOST, SERVER } from '../stack/internet.ts';
import { missing } from '../requirements.ts';
import { Path } from '../wire/path.ts';
import { Probe, type ProbePacket } from '../wire/probe.ts';
import { TcpEnd } from '../wire/tcp-end.ts';
import {
  startStackFixture,
  eventually,
  type StackFixture,
  whyNot,
} from '../system/stack-fixture.ts';

const FAMILIES = [4, 6] as const;
const SERVICE = 27_015;
const OTHER_SERVICE = 27_016;
const REAL_SERVICE = 27_100;
const GAME = 27_200;
const ROUNDS = 10;
/**
 * A table such as Docker publishes a port on a host whose own address leads out: what the container sends by itself
 * has it too.
 */
const PUBLISHED = `table ip published {
  chain prerouting {
    type nat hook prerouting priority dstnat - 1;
    ip daddr ${HOST[4]} udp dport ${GAME} dnat to ${CONTAINER.address};
  }
  chain postrouting {
    type nat hook postrouting priority srcnat - 1;
    ip saddr ${CONTAINER.address} oifname wan snat to ${HOST[4]};
  }
}`;
/** Nobody protects it. */
const IN_CONTAINER = { 4: CONTAINER.address, 6: '' };

const lacking = whyNot() || missing(['conntrack']);
if (lacking !== null && process.env['PORTCULLIS_TEST_REQUIRE'] === 'all') {
  throw new Error(`these tests may not be skipped here, and cannot run: ${lacking}`);
}

let fixture: StackFixture;
/** The way back: what leaves by the server's side is not judged: to the client everything passes. */
let back: Path;

for (const earlyDrop of [false, true]) {
  describe(`flows that a change of policy finds under way, ${earlyDrop ? 'with' : 'without'} early drop`, {
    skip: lacking ?? false,
  }, () => {
    before(async () => {
      fixture = await startStackFixture(`established-${earlyDrop ? 'early' : 'late'}`, {
        earlyDrop,
      });
      back = new Path(fixture.server, fixture.client, { 4: CLIENT[4], 6: CLIENT[6] });
    });
    after(() => fixture.stop());

    for (const protocol of ['udp', 'tcp'] as const) {
      it(`${protocol}: stop when they become denied and are forgotten, also while the server goes on sending`, async () => {
        const { through, stack } = fixture;
        for (const family of FAMILIES) {
          const inbound = flow(family, protocol, 41_000, SERVICE);
          const other = flow(family, protocol, 41_000, OTHER_SERVICE);
          assert.equal(await through.passes(inbound), true);
          for (let round = 0; round < 3; round++) {
            assert.equal(await back.passes(reversed(inbound)), true);
            assert.equal(await through.passes(inbound), true);
          }
          assert.equal(await through.passes(other), true);
          const idOfOther = idsOf(other);
          // Of TCP both ends answer what nobody asked for with a reset, which ends the entry: see below.
          const isTracked = protocol === 'udp';
          if (isTracked) assert.deepEqual(begunBy(inbound), [CLIENT[family]]);
          const ids = await deny(family, { protocol, destination_port: String(SERVICE) });
          await eventually('it is denied', async () => !(await through.passes(inbound)));
          await eventually('it is forgotten', async () => begunBy(inbound).length === 0, 2_000);
          for (let round = 0; round < ROUNDS; round++) {
            assert.equal(await back.passes(reversed(inbound)), true);
            assert.equal(await through.passes(inbound), false, `IPv${family}, round ${round}`);
          }
          // The kernel believes now that the server began.
          if (isTracked) assert.deepEqual(begunBy(inbound), [SERVER[family]]);
          assert.deepEqual(idsOf(other), idOfOther, 'another flow of both is not touched');
          assert.equal(await through.passes(other), true);
          await stack.api.deleteRules(SERVER[family], ids);
          await eventually('it flows again', () => through.passes(inbound));
          assert.equal(await back.passes(reversed(inbound)), true);
          assert.equal(await through.passes(inbound), true);
        }
      });
    }

    it('gre: stop too, which has no ports', async () => {
      const { through, stack } = fixture;
      for (const family of FAMILIES) {
        const inbound = {
          source: CLIENT[family],
          destination: SERVER[family],
          protocol: 'gre',
        } as const;
        assert.equal(await through.passes(inbound), true);
        assert.equal(await back.passes(reversed(inbound)), true);
        assert.deepEqual(begunBy(inbound), [CLIENT[family]]);
        const ids = await deny(family, { protocol: 'gre' });
        await eventually('it is forgotten', async () => begunBy(inbound).length === 0, 2_000);
        for (let round = 0; round < ROUNDS; round++) {
          assert.equal(await back.passes(reversed(inbound)), true);
          assert.equal(await through.passes(inbound), false, `IPv${family}, round ${round}`);
        }
        assert.deepEqual(begunBy(inbound), [SERVER[family]]);
        await stack.api.deleteRules(SERVER[family], ids);
        await eventually('it flows again', () => through.passes(inbound));
      }
    });

    it('are forgotten where nobody sends any more, and begin anew when they are allowed again', async () => {
      const { through, stack } = fixture;
      for (const family of FAMILIES) {
        const inbound = flow(family, 'udp', 43_000, SERVICE);
        assert.equal(await through.passes(inbound), true);
        assert.equal(await back.passes(reversed(inbound)), true);
        const ids = await deny(family, { protocol: 'udp', destination_port: String(SERVICE) });
        await eventually('it is forgotten', async () => begunBy(inbound).length === 0, 2_000);
        await stack.api.deleteRules(SERVER[family], ids);
        await eventually('it flows again', () => through.passes(inbound));
        assert.deepEqual(begunBy(inbound), [CLIENT[family]]);
      }
    });

    it('stay denied when the table is written anew, and when somebody else deletes it', async () => {
      const { through, stack, internet } = fixture;
      const inbound = flow(4, 'udp', 44_000, SERVICE);
      assert.equal(await through.passes(inbound), true);
      const ids = await deny(4, { protocol: 'udp', destination_port: String(SERVICE) });
      await eventually('it is forgotten', async () => begunBy(inbound).length === 0, 2_000);
      const goesOn = async (): Promise<void> => {
        assert.equal(await back.passes(reversed(inbound)), true);
        assert.deepEqual(begunBy(inbound), [SERVER[4]]);
      };
      await goesOn();
      // Our own table is written whole when somebody changes it.
      internet.edge.run('nft', 'add chain inet portcullis foreign');
      await eventually('it is mended', async () => !tableHas('foreign'));
      await goesOn();
      assert.equal(await through.passes(inbound), false);
      internet.edge.run('nft', 'delete table inet portcullis');
      await eventually('it is back', async () => tableHas('chain replies'));
      await goesOn();
      assert.equal(await through.passes(inbound), false);
      await stack.api.deleteRules(SERVER[4], ids);
    });

    it('stay denied when the edge was off meanwhile, by an agent that runs on and by none', async () => {
      const { through, stack, internet } = fixture;
      internet.edge.run('conntrack', '-F');
      const denied = FAMILIES.map((family) => flow(family, 'udp', 47_000, SERVICE));
      const gre = { source: CLIENT[4], destination: SERVER[4], protocol: 'gre' } as const;
      const all = [...denied, gre];
      for (const one of all) assert.equal(await through.passes(one), true);
      const ids = {
        4: [
          ...(await deny(4, { protocol: 'udp', destination_port: String(SERVICE) })),
          ...(await deny(4, { protocol: 'gre' })),
        ],
        6: await deny(6, { protocol: 'udp', destination_port: String(SERVICE) }),
      };
      for (const one of all)
        await eventually('it is forgotten', async () => begunBy(one).length === 0, 2_000);
      const serverGoesOn = async (): Promise<void> => {
        for (const one of all) {
          assert.equal(await back.passes(reversed(one)), true);
          assert.deepEqual(begunBy(one), [one.destination]);
        }
      };
      await serverGoesOn();
      const isBack = (): Promise<void> =>
        eventually('the edge is on again', async () => tableHas('chain replies'));
      const around: readonly ((on: () => Promise<unknown>) => Promise<void>)[] = [
        async (on) => void (await on()),
        async (on) => {
          await stack.killAll();
          await on();
          await stack.start('--enforce');
        },
      ];
      for (const whole of around) {
        await stack.command('edge', 'off');
        for (const one of all) assert.equal(await through.passes(one), true, 'hands are off');
        await serverGoesOn();
        await whole(() => stack.command('edge', 'on'));
        await isBack();
        for (let round = 0; round < 3; round++) {
          for (const one of all) assert.equal(await through.passes(one), false, one.destination);
          await serverGoesOn();
        }
      }
      for (const family of FAMILIES) await stack.api.deleteRules(SERVER[family], ids[family]);
      for (const one of all) await eventually('it flows again', () => through.passes(one));
    });

    it('of a published port stay denied while the container goes on sending', async () => {
      const { stack, internet, client } = fixture;
      internet.edge.run('nft', PUBLISHED);
      const inContainer = await new Probe(internet.container).started();
      try {
        const towards = new Path(client, inContainer, IN_CONTAINER);
        const backwards = new Path(inContainer, client, { 4: CLIENT[4], 6: CLIENT[6] });
        const inbound = { ...flow(4, 'udp', 45_000, GAME), destination: HOST[4] };
        const answer = { ...reversed(inbound), source: CONTAINER.address };
        assert.equal(await towards.passes(inbound), true);
        assert.equal(await backwards.passes(answer), true);
        const rule = { action: 'deny', protocol: 'udp', destination_port: String(GAME) } as const;
        const ids = await stack.api.createRule(HOST[4], rule);
        await stack.api.enforced(HOST[4]);
        await eventually('it is forgotten', async () => begunBy(inbound).length === 0, 2_000);
        for (let round = 0; round < ROUNDS; round++) {
          assert.equal(await backwards.passes(answer), true);
          assert.equal(await towards.passes(inbound), false, `round ${round}`);
        }
        // By another entry, masqueraded to the port that was published.
        assert.deepEqual(begunBy(inbound), [CONTAINER.address]);
        await stack.api.deleteRules(HOST[4], ids);
        await eventually('it flows again', () => towards.passes(inbound));
      } finally {
        await inContainer.stop();
        internet.edge.run('nft', 'delete table ip published');
      }
    });

    it('tcp: are forgotten, and no end hears the other again until it is allowed, whoever goes on sending', async () => {
      const { stack, internet } = fixture;
      for (const family of FAMILIES) {
        const address = SERVER[family];
        const server = await TcpEnd.serve(internet.server, address, REAL_SERVICE);
        const port = 46_000;
        const client = await TcpEnd.connect(internet.client, address, REAL_SERVICE, port);
        assert.ok(client !== null);
        assert.equal(await client.ask(), 'echo');
        const connection = flow(family, 'tcp', port, REAL_SERVICE);
        assert.deepEqual(begunBy(connection), [CLIENT[family]]);
        const ids = await deny(family, { protocol: 'tcp', destination_port: `${REAL_SERVICE}` });
        await eventually('it is forgotten', async () => begunBy(connection).length === 0, 2_000);
        await server.tellAll();
        assert.deepEqual(begunBy(connection), [SERVER[family]]);
        assert.equal(await client.ask(), 'silent');
        await stack.api.deleteRules(address, ids);
        await eventually('it goes on', async () => (await client.ask()) === 'echo');
      }
    });

    it('go on where the protected host opened them, whatever is denied', async () => {
      const { through, stack } = fixture;
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
function reversed(packet: ProbePacket): ProbePacket {
  const { source, destination, protocol, sourcePort, destinationPort } = packet;
  const ends = { source: destination, destination: source, protocol };
  if (sourcePort === undefined || destinationPort === undefined) return ends;
  return { ...ends, sourcePort: destinationPort, destinationPort: sourcePort };
}

async function deny(
  family: 4 | 6,
  rule: Pick<NewRule, 'protocol' | 'destination_port'>,
): Promise<readonly number[]> {
  const { api } = fixture.stack;
  const ids = await api.createRule(SERVER[family], { action: 'deny', ...rule });
  await api.enforced(SERVER[family]);
  return ids;
}

function tableHas(text: string): boolean {
  try {
    return fixture.internet.edge.run('nft', 'list', 'chains', 'inet').includes(text);
  } catch {
    return false;
  }
}

/** Who began a flow, as connection tracking has it: nobody where it does not know it. */
function begunBy(inbound: ProbePacket): string[] {
  return entriesOf(inbound).map((line) => /src=(\S+)/.exec(line)?.[1] ?? '');
}

/** The numbers of its entries. */
function idsOf(inbound: ProbePacket): string[] {
  return entriesOf(inbound).map((line) => / id=(\d+)/.exec(line)?.[1] ?? '');
}

function entriesOf(inbound: ProbePacket): string[] {
  const { source, destination, protocol, sourcePort, destinationPort } = inbound;
  const kind = source.includes(':') ? 'ipv6' : 'ipv4';
  const { edge } = fixture.internet;
  const listed = edge.run('conntrack', '-L', '-f', kind, '-p', protocol, '-o', 'id');
  const ports = sourcePort === undefined ? [] : [sourcePort, destinationPort];
  const said = [`=${source} `, `=${destination} `, ...ports.map((port) => `port=${port} `)];
  return listed.split('\n').filter((line) => said.every((text) => line.includes(text)));
}
