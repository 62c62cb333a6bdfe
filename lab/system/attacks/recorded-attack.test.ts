import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  mitigatedAt,
  recordOngoing,
  activeKinds,
} from '@portcullis/control/attacks/response/mitigations/testing.ts';
import { type Db, openDatabase } from '@portcullis/control/db/database.ts';
import { findEmbeddedPostgres } from '@portcullis/control/db/embedded/index.ts';
import { sql } from 'kysely';
import { CLIENT, SERVER } from '../../stack/internet.ts';
import { UdpPeer } from '../../wire/udp-peer.ts';
import {
  startStackFixture,
  eventually,
  type StackFixture,
  packet,
  whyNot,
} from '../stack-fixture.ts';

let fixture: StackFixture;
let db: Db;

const FAMILIES = [4, 6] as const;
const DNS = 53;
/** A port without a listener, so that packets that pass are not answered. */
const CLOSED = 27_016;
const answer = (family: 4 | 6) => packet(family, 'udp', { sourcePort: 53 });
const player = (family: 4 | 6) => packet(family, 'udp');

async function passes(one: ReturnType<typeof packet>): Promise<boolean> {
  return fixture.through.passes(one);
}

/**
 * Writes an attack into the database as a recorder leaves it that dies at once: the tests check only what control and
 * the edge do with it.
 */
describe('a recorded attack on the wire', { skip: whyNot() }, () => {
  before(async () => {
    fixture = await startStackFixture('mitigated');
    const url = findEmbeddedPostgres(fixture.stack.dataDir);
    assert.ok(url !== null);
    db = openDatabase({ url, poolSize: 2 });
  });
  after(async () => {
    await db?.destroy();
    await fixture.stop();
  });

  for (const family of FAMILIES) {
    it(`IPv${family}: is mitigated by the edge although its recorder died, dated, and cancelled by the operator`, async () => {
      const { stack } = fixture;
      assert.equal(await passes(answer(family)), true);
      const { attackId } = await recordOngoing(db, SERVER[family], 'dns_amplification');
      await eventually('the edge has it in its kernel', async () => {
        return (await mitigatedAt(db, attackId)) !== null;
      });
      assert.equal(await passes(answer(family)), false);
      assert.equal(await passes(player(family)), true);
      await assertExplained(family);
      await stack.api.cancelMitigations(attackId);
      await eventually('answers pass again', () => passes(answer(family)));
      assert.deepEqual(await activeKinds(db, attackId), []);
    });
  }

  for (const family of FAMILIES) {
    it(`IPv${family}: answers are dropped before nftables, and those that the attacked asked for pass, also of a flow from before`, async (t) => {
      const { client, server, edge } = fixture.internet;
      const [outside, inside] = [new UdpPeer(client), new UdpPeer(server)];
      t.after(async () => {
        await outside.stop();
        await inside.stop();
      });
      const attacked = family === 4 ? '203.0.113.30' : '2001:db8:5::30';
      const options = family === 4 ? [] : ['nodad'];
      server.run(
        'ip',
        'addr',
        'add',
        `${attacked}/${family === 4 ? 24 : 64}`,
        'dev',
        'eth0',
        ...options,
      );
      const resolver = await outside.open(CLIENT[family], DNS, '');
      const before = await inside.open(attacked);
      await before.exchange(CLIENT[family], DNS);
      const { attackId } = await recordOngoing(db, attacked, 'dns_amplification');
      await eventually('the edge has it', async () => (await mitigatedAt(db, attackId)) !== null);
      const entered = countEntering(edge, `udp sport ${DNS} udp dport ${CLOSED}`);
      t.after(() => edge.run('nft', 'delete', 'table', 'inet', 'entering'));
      const unasked = async (): Promise<boolean> => {
        const already = entered();
        await resolver.send(attacked, CLOSED, 50);
        return entered() === already;
      };
      await eventually('none of them reaches nftables', unasked);
      const since = await inside.open(attacked);
      for (const asking of [before, since]) await asking.exchange(CLIENT[family], DNS);
      assert.deepEqual([await before.received(), await since.received()], [2, 1]);
      await fixture.stack.api.cancelMitigations(attackId);
    });
  }

  it('only observed, passes, and with the attack is reported what would have been dropped, each packet once', async () => {
    const observed = SERVER.neighbours.at(-1) ?? '';
    await sql`
      update holdings set detection = '{"mitigation": "observe"}' where cidr >>= ${observed}::inet`.execute(
      db,
    );
    const { attackId } = await recordOngoing(db, observed, 'ntp_amplification');
    const ntp = packet(6, 'udp', { destination: observed, sourcePort: 123 });
    let sent = 0;
    const reported = async () => {
      const { rows } = await sql<{ what: string; packets: number }>`
        select what, packets from attack_drops where attack_id = ${attackId}`.execute(db);
      return rows;
    };
    await eventually(
      'edges reported what they would have dropped',
      async () => {
        sent += 1;
        assert.equal(await passes(ntp), true);
        return (await reported()).length > 0;
      },
      60_000,
    );
    const [one, ...others] = await reported();
    assert.deepEqual([one?.what, others], ['observed', []]);
    assert.ok((one?.packets ?? 0) <= sent, `${one?.packets} of ${sent}`);
    await sql`update holdings set detection = '{}' where cidr >>= ${observed}::inet`.execute(db);
  });

  it('goes on being mitigated through kill -9 of control, which then withdraws it at its end', async () => {
    const { stack } = fixture;
    const { attackId } = await recordOngoing(db, SERVER.neighbours[0] ?? '', 'ntp_amplification');
    const ntp = () =>
      packet(4, 'udp', { destination: SERVER.neighbours[0] ?? '', sourcePort: 123 });
    process.kill(stack.pidOf('control/main.ts'), 'SIGKILL');
    await eventually(
      'control came back and mitigates it',
      // The embedded database restarts with control.
      async () => (await mitigatedAt(db, attackId).catch(() => null)) !== null,
      60_000,
    );
    assert.equal(await passes(ntp()), false);
    process.kill(stack.pidOf('control/main.ts'), 'SIGKILL');
    assert.equal(await passes(ntp()), false, 'the edge keeps what it has');
    const end = sql`update ongoing_attacks set ended_at = now() where attack_id = ${attackId}`;
    const ended = () =>
      end.execute(db).then(
        () => true,
        () => false,
      );
    await eventually('the database takes the end', ended, 60_000);
    await eventually('it is withdrawn', () => passes(ntp()), 60_000);
  });
});

/** Packets received from the device since, counted before nftables evaluates them. */
function countEntering(edge: StackFixture['internet']['edge'], match: string): () => number {
  const chain = `type filter hook prerouting priority -1000;\n${match} counter`;
  edge.run('nft', `table inet entering {\nchain input {\n${chain}\n}\n}\n`);
  return () => {
    const listed = edge.run('nft', 'list', 'chain', 'inet', 'entering', 'input');
    return Number(/counter packets (\d+)/.exec(listed)?.[1]);
  };
}

interface Explained {
  readonly data: {
    readonly decided_by: { readonly kind: string } | null;
    readonly explanation: string;
    readonly edges: readonly { readonly answer: { readonly verdict: string } | null }[];
  };
}

/** Reasons as control and the edge word them. */
async function assertExplained(family: 4 | 6): Promise<void> {
  const path = `/api/x1/firewall/ips/${SERVER[family]}/explain`;
  const { body } = await fixture.stack.api.call<Explained>('POST', path, {
    protocol: 'udp',
    source_ip: CLIENT[family],
    source_port: 53,
    destination_port: 27_015,
  });
  assert.equal(body.data.decided_by?.kind, 'mitigation');
  assert.match(body.data.explanation, /against an attack: drops UDP from port 53/);
  assert.equal(body.data.edges[0]?.answer?.verdict, 'drop');
}
