import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { edgeStatus } from '../../stack/edge-status.ts';
import { CLIENT, CONTAINER, HOST } from '../../stack/internet.ts';
import { skipUnless } from '../../requirements.ts';
import { answersSsh, startSshd } from '../../stack/sshd.ts';
import { API_PORT } from '../../stack/stack.ts';
import {
  startStackFixture,
  eventually,
  type StackFixture,
  packet,
  reaches,
  whyNot,
} from '../stack-fixture.ts';

let fixture: StackFixture;
const TUNNEL = { host: '10.99.7.1', client: '10.99.7.2' } as const;
const published = `http://${HOST[4]}:${CONTAINER.publishedPort}/`;

describe('the edge host that protects itself', { skip: whyNot() }, () => {
  before(async () => {
    fixture = await startStackFixture('host');
  });
  after(() => fixture.stop());

  it('obeys rules on a port published by DNAT, and leaves hairpin traffic alone', async () => {
    const { internet, stack } = fixture;
    assert.equal(reaches(internet.client, published), true);
    const ids = await stack.api.createRule(HOST[4], {
      action: 'deny',
      protocol: 'tcp',
      destination_port: String(CONTAINER.publishedPort),
    });
    assert.equal(reaches(internet.client, published, '--max-time', '1'), false);
    assert.equal(reaches(internet.container, published), true, 'from the container to itself');
    assert.equal(reaches(internet.edge, published), true, 'from the host to its container');
    await stack.api.deleteRules(HOST[4], ids);
    assert.equal(reaches(internet.client, published), true);
  });

  it('keeps SSH, the control plane and its own connections under a deny of everything', async () => {
    const { internet, stack, toHost } = fixture;
    const ids: number[] = [];
    for (const family of [4, 6] as const) {
      ids.push(...(await stack.api.createRule(HOST[family], { action: 'deny', protocol: 'any' })));
      const to = { destination: HOST[family] };
      assert.equal(
        await toHost.passes(packet(family, 'tcp', { ...to, destinationPort: 22 })),
        true,
      );
      assert.equal(
        await toHost.passes(packet(family, 'tcp', { ...to, destinationPort: 23 })),
        false,
      );
      assert.equal(await toHost.passes(packet(family, 'udp', to)), false);
      assert.equal(await toHost.passes(packet(family, 'gre', to)), false);
    }
    assert.equal(reaches(internet.client, `http://${HOST[4]}:${API_PORT}/healthz`), true);
    assert.equal(reaches(internet.edge, `http://${CLIENT[4]}/`, '--interface', HOST[4]), true);
    assert.equal(reaches(internet.edge, `http://[${CLIENT[6]}]/`, '--interface', HOST[6]), true);
    await stack.api.deleteRules(HOST[4], ids.slice(0, 1));
    await stack.api.deleteRules(HOST[6], ids.slice(1));
  });

  it('keeps its operator in: where sshd listens, on another port, on IPv6 only, and behind a tunnel', {
    skip: skipUnless(['sshd']),
  }, async (t) => {
    const { internet, stack } = fixture;
    const { client, edge } = internet;
    const first = startSshd(edge, ['0.0.0.0:2222', '[::]:2222']);
    t.after(() => first.stop());
    await eventually('sshd listens', async () => answersSsh(client, HOST[4], 2222, 2));
    await eventually('its port is known', async () => (await knownPorts()).includes('tcp 2222'));
    // As an operator would: a tunnel to the host, and a session inside it.
    for (const [where, local, remote, inside] of [
      [edge, HOST[4], CLIENT[4], TUNNEL.host],
      [client, CLIENT[4], HOST[4], TUNNEL.client],
    ] as const) {
      where.run(
        'ip',
        'link',
        'add',
        'vpn',
        'type',
        'vxlan',
        'id',
        '7',
        'local',
        local,
        'remote',
        remote,
        'dstport',
        '4789',
      );
      where.run('ip', 'addr', 'add', `${inside}/24`, 'dev', 'vpn');
      where.run('ip', 'link', 'set', 'vpn', 'up');
    }
    await eventually('the tunnel works', async () => answersSsh(client, TUNNEL.host, 2222, 2));
    const session = client.spawn(
      ['bash', '-c', `exec 3<>/dev/tcp/${TUNNEL.host}/2222; sleep 300`],
      { stdio: 'ignore' },
    );
    t.after(() => session.kill());
    await eventually('the tunnel is known', async () => (await knownPorts()).includes('udp 4789'));

    const ids: number[] = [];
    for (const family of [4, 6] as const)
      ids.push(...(await stack.api.createRule(HOST[family], { action: 'deny', protocol: 'any' })));
    for (const address of [HOST[4], HOST[6], TUNNEL.host])
      assert.equal(answersSsh(client, address, 2222), true, address);
    const second = startSshd(edge, ['[::]:2223']);
    t.after(() => second.stop());
    await eventually('another port is learned', async () => answersSsh(client, HOST[6], 2223, 2));
    assert.equal(reaches(client, `http://${HOST[4]}:23/`, '--max-time', '1'), false);
    await stack.api.deleteRules(HOST[4], ids.slice(0, 1));
    await stack.api.deleteRules(HOST[6], ids.slice(1));

    async function knownPorts(): Promise<string[]> {
      const { report } = await edgeStatus(stack);
      return report?.management.map(({ protocol, port }) => `${protocol} ${port}`) ?? [];
    }
  });

  it('is freed by edge off, without waiting for control, and held again by edge on', async () => {
    const { stack, toHost } = fixture;
    const denied = (): ReturnType<typeof packet> => packet(4, 'udp', { destination: HOST[4] });
    const ids = await stack.api.createRule(HOST[4], { action: 'deny', protocol: 'udp' });
    assert.equal(await toHost.passes(denied()), false);
    await eventually('fragments wait shortly', async () => patienceSeconds() === 2);
    await stack.command('edge', 'off');
    assert.equal(await toHost.passes(denied()), true);
    await eventually('fragments wait as before', async () => patienceSeconds() === 30);
    await stack.command('edge', 'on');
    await eventually('it enforces again', async () => !(await toHost.passes(denied())));
    await eventually('fragments wait shortly', async () => patienceSeconds() === 2);
    await stack.api.deleteRules(HOST[4], ids);
  });
});

/** How long the edge host's kernel keeps fragments of an incomplete datagram. */
function patienceSeconds(): number {
  return Number(fixture.internet.edge.run('sysctl', '-n', 'net.ipv4.ipfrag_time'));
}
