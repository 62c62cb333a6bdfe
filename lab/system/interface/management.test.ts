import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { closeDescriptor } from '@portcullis/dataplane/kernel/bpf/bpf.ts';
import { standInForVlans, tagFrames } from '../../differential/vlans.ts';
import { skipUnless } from '../../requirements.ts';
import { CLIENT, EDGE_DEVICE, HOST, SERVER } from '../../stack/internet.ts';
import { answersSsh, startSshd } from '../../stack/sshd.ts';
import { defaultFleet } from '../../stack/stack.ts';
import { TcpEnd } from '../../wire/tcp-end.ts';
import { NEEDS, startStackFixture, eventually, type StackFixture } from '../stack-fixture.ts';

const SSH_PORT = 2222;
/** Named by --management, for sessions whose both ends speak at any time. */
const NAMED_PORT = 7000;
const CLOSED_PORT = 7001;
const VLAN = { tag: 7, device: 'wan7' } as const;
/** Held by the organisation; of the server first. */
const MOVING = SERVER.neighbours[0];
const GATEWAY = '192.0.2.1';
const DENY = { action: 'deny', protocol: 'any' } as const;

describe('the operator of an edge host that protects itself', {
  skip: skipUnless([...NEEDS, 'sshd', 'bpf']),
}, () => {
  let fixture: StackFixture;
  const ends: { stop(): void }[] = [];
  before(async () => {
    // The VLAN's device, which comes later, matches too.
    const fleet = defaultFleet().replace(`[${EDGE_DEVICE}]`, `["${EDGE_DEVICE}*"]`);
    const args = ['--enforce', '--management', `tcp/${NAMED_PORT}`];
    fixture = await startStackFixture('management', { fleet, args });
    const { edge, server, client } = fixture.internet;
    // Rules are live before any sshd listens.
    for (const address of [HOST[4], HOST[6], MOVING])
      await fixture.stack.api.createRule(address, DENY);
    await TcpEnd.serve(edge, HOST[4], CLOSED_PORT);
    assert.equal(await TcpEnd.connect(client, HOST[4], CLOSED_PORT), null, 'what is denied');
    ends.push(startSshd(edge, [`0.0.0.0:${SSH_PORT}`, `[::]:${SSH_PORT}`]));
    ends.push(startSshd(server, [`${SERVER[4]}:22`, `${MOVING}:22`]));
  });
  after(async () => {
    for (const end of ends) end.stop();
    await fixture.stop();
  });

  it('gets in by an sshd that is started after the rules are live', async () => {
    const { client } = fixture.internet;
    for (const address of [HOST[4], HOST[6]])
      await eventually('sshd is learned', async () => answersSsh(client, address, SSH_PORT, 2));
  });

  it('gets in by a VLAN', async (t) => {
    const { client, edge } = fixture.internet;
    edge.run('ip', 'link', 'add', VLAN.device, 'type', 'veth', 'peer', 'name', 'wan7peer');
    for (const device of [VLAN.device, 'wan7peer']) edge.run('ip', 'link', 'set', device, 'up');
    const link = JSON.parse(edge.run('ip', '-j', 'link', 'show', EDGE_DEVICE)) as [
      { readonly address: string },
    ];
    // Redirected frames are for this host by its address too.
    edge.run('ip', 'link', 'set', VLAN.device, 'address', link[0].address);
    const neighbour = ['neighbour', 'replace', GATEWAY, 'lladdr', link[0].address];
    client.run('ip', ...neighbour, 'dev', 'eth0', 'nud', 'permanent');
    edge.run(
      'nft',
      `table inet seen {
        chain arrived {
          type filter hook prerouting priority -500; iifname "${VLAN.device}" counter;
        }
      }`,
    );
    const received = (): number =>
      Number(/packets (\d+)/.exec(edge.run('nft', 'list', 'table', 'inet', 'seen'))?.[1]);
    const untagging = standInForVlans(edge, EDGE_DEVICE, [{ vlan: VLAN.tag, device: VLAN.device }]);
    t.after(() => closeDescriptor(untagging));
    const tagging = tagFrames(client, 'eth0', VLAN.tag);
    t.after(() => closeDescriptor(tagging));
    const before = received();
    assert.equal(answersSsh(client, HOST[4], SSH_PORT), true);
    assert.ok(received() > before, 'by the VLAN');
    await eventually('what is denied is denied there too', async () => {
      return (await TcpEnd.connect(client, HOST[4], CLOSED_PORT)) === null;
    });
  });

  it('gets in by a jump host, and on from this host to others', async () => {
    const { client, edge, server } = fixture.internet;
    assert.equal(answersSsh(client, SERVER[4], 22), true, 'the jump host behind the edge');
    assert.equal(answersSsh(server, HOST[4], SSH_PORT), true, 'from there to the edge host');
    assert.equal(answersSsh(edge, SERVER[4], 22), true, 'from the edge host on');
  });

  it('gets in when an address moves: that of the operator, and one to this host', async () => {
    const { client, edge, server } = fixture.internet;
    const [elsewhere] = CLIENT.others;
    const from = (source: string): boolean => {
      client.run('ip', 'route', 'replace', HOST[4], 'via', GATEWAY, 'src', source);
      return answersSsh(client, HOST[4], SSH_PORT);
    };
    assert.deepEqual([from(elsewhere), from(CLIENT[4])], [true, true]);
    assert.equal(answersSsh(client, MOVING, 22, 2), false, 'behind the edge the rules decide');
    server.run('ip', 'addr', 'del', `${MOVING}/24`, 'dev', 'eth0');
    edge.run('ip', 'addr', 'add', `${MOVING}/32`, 'dev', 'lo');
    assert.equal(answersSsh(client, MOVING, SSH_PORT), true);
    assert.equal(await TcpEnd.connect(client, MOVING, CLOSED_PORT), null);
  });

  it('keeps the session, whatever a generation denies', async () => {
    const { client, edge } = fixture.internet;
    const { api } = fixture.stack;
    await TcpEnd.serve(edge, HOST[4], NAMED_PORT);
    const session = await TcpEnd.connect(client, HOST[4], NAMED_PORT);
    assert.ok(session !== null);
    const alive = await session.ask();
    for (const port of [NAMED_PORT, SSH_PORT]) {
      const denied = { action: 'deny', protocol: 'tcp', destination_port: String(port) } as const;
      const generations: readonly (() => Promise<unknown>)[] = [
        () => api.createRule(HOST[4], denied),
        () => api.createRule(HOST[4], { ...denied, source_ip: CLIENT[4] }),
        () => api.createRule(HOST[4], { ...denied, source_ip: '0.0.0.0/0' }),
        () => api.createFilter(HOST[4], 'tcp-syn-proxy', String(port)),
        () => api.call('PUT', '/api/x1/firewall/defaults', { target: HOST[4], default: 'deny' }),
      ];
      for (const [index, generation] of generations.entries()) {
        // What the interface refuses is no generation.
        await generation().catch(() => {});
        assert.equal(await session.ask(), alive, `the session, after change ${index} of ${port}`);
        assert.equal(answersSsh(client, HOST[4], SSH_PORT), true, `a new one, after ${index}`);
      }
    }
    process.kill(fixture.stack.pidOf('edge/main.ts'), 'SIGKILL');
    assert.equal(await session.ask(), alive, 'while the edge is away');
    await eventually(
      'another edge runs',
      async () =>
        (await api.call('GET', '/api/v1/firewall/ips/' + HOST[4])).headers[
          'portcullis-enforcement'
        ] === 'full',
    );
    assert.equal(await session.ask(), alive, 'after its restart');
    assert.equal(answersSsh(client, HOST[4], SSH_PORT), true);
  });
});
