import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { after, afterEach, before, describe, it } from 'node:test';
import { DockerEngine } from '@portcullis/node/engine/docker/docker.ts';
import { createGuard } from '@portcullis/node/engine/docker/network/guard.ts';
import { Names } from '@portcullis/node/engine/docker/labels.ts';
import { startDockerFixture, type DockerFixture } from '../docker/docker-fixture.ts';
import { addAddress, addRoute, enableForwarding, type Namespace, Network } from '../stack/netns.ts';
import { skipUnless } from '../requirements.ts';
import { eventually } from '../system/stack-fixture.ts';
import { GAME_PORT, type ServerShell, startShell } from '../docker/server-shell.ts';

const HOST = { 4: '198.51.100.1', 6: '2001:db8:e::1' } as const;
const CLIENT = { 4: '192.0.2.2', 6: '2001:db8:c::2' } as const;
/** Ports of services that listen on the host, such as the control plane, its metrics or an engine. */
const HOST_PORT = 8080;
/** The metadata address at which clouds serve credentials to machines. */
const METADATA = '169.254.169.254';
const METADATA_6 = 'fd00:ec2::254';
const CLIENT_PORT = 9000;
/** Timeout for expected answers; it costs nothing when they come. */
const PATIENT_S = 10;
const PUBLISHED = { ip: HOST[4], port: GAME_PORT, protocol: 'tcp' } as const;

describe('servers in Docker', { skip: skipUnless(['docker', 'nft']) }, () => {
  const network = new Network('isolation');
  const listeners: ChildProcess[] = [];
  let host: Namespace;
  let client: Namespace;
  let fixture: DockerFixture;

  before(async () => {
    host = network.create('host');
    client = network.create('client');
    network.join(host, { device: 'wan', addresses: ['192.0.2.1/24', '2001:db8:c::1/64'] }, client, {
      device: 'eth0',
      addresses: [`${CLIENT[4]}/24`, `${CLIENT[6]}/64`],
    });
    for (const address of Object.values(HOST)) {
      addAddress(host, 'wan', address);
      addRoute(client, address, address.includes(':') ? '2001:db8:c::1' : '192.0.2.1');
    }
    addAddress(client, 'eth0', `${METADATA}/32`);
    addRoute(host, METADATA, CLIENT[4]);
    enableForwarding(host);
    listeners.push(listen(host, HOST_PORT), listen(client, CLIENT_PORT));
    fixture = await startDockerFixture('isolation', { namespace: host });
  });
  after(async () => {
    for (const listener of listeners) listener.kill('SIGKILL');
    await fixture.stop();
    network.destroy();
  });

  afterEach(async () => {
    for (const { uuid } of await fixture.engine.list()) await fixture.engine.remove(uuid);
  });

  it('reach those of their organisation and the internet, nobody else’s and not the host', async () => {
    const one = await startShell(fixture, { ports: [PUBLISHED] });
    const two = await startShell(fixture);
    const foreign = await startShell(fixture, { organisation: 'other' });
    assert.equal(await one.reaches(await two.address(4), GAME_PORT), true, 'same organisation');
    assert.equal(await one.reaches(CLIENT[4], CLIENT_PORT), true, 'the internet');
    assert.equal(await one.reaches(HOST[4], PUBLISHED.port), true, 'its own published port');
    await reachesNothingElse(one, foreign);
    await reachesNothingElse(foreign, one);
    const addresses = await one.run(
      'ip -6 address show scope global; ip -6 address show scope link',
    );
    assert.equal(addresses.output.trim(), '', 'no IPv6 where the network has none');
  });

  it('are reached from outside on what is published, and on nothing else', async () => {
    const one = await startShell(fixture, { ports: [PUBLISHED] });
    const two = await startShell(fixture);
    assert.equal(reaches(client, HOST[4], PUBLISHED.port, PATIENT_S), true);
    for (const shell of [one, two]) {
      const address = await shell.address(4);
      addRoute(client, address, '192.0.2.1');
      assert.equal(reaches(client, address, GAME_PORT), false, 'routed past Docker');
      client.run('ip', 'route', 'del', address);
    }
  });

  it('stay apart by IPv6 as well, where an operator gave the networks some', async () => {
    const shells: ServerShell[] = [];
    for (const [organisation, digit] of [
      ['six', 1],
      ['seven', 2],
    ] as const) {
      await makeWithIpv6(fixture, organisation, digit);
      for (const _ of [1, 2]) shells.push(await startShell(fixture, { organisation }));
    }
    const [one, two, foreign] = shells;
    assert.ok(one && two && foreign);
    // Duplicate address detection takes a second.
    await eventually('same organisation', async () => one.reaches(await two.address(6), GAME_PORT));
    assert.equal(await one.isKeptFrom(await foreign.address(6), GAME_PORT), true);
    const addresses = [HOST[6], 'fd00:5eed:1::1', '2001:db8:c::1'];
    assert.deepEqual(await one.reached(addresses.map((ip) => [ip, HOST_PORT] as const)), []);
    const address = await one.address(6);
    addRoute(client, address, '2001:db8:c::1');
    assert.equal(reaches(client, address, GAME_PORT), false, 'Docker 20 filters no IPv6');
    addAddress(client, 'eth0', `${METADATA_6}/128`);
    addRoute(host, METADATA_6, CLIENT[6]);
    assert.equal(await one.reaches(CLIENT[6], CLIENT_PORT), true, 'the internet');
    assert.equal(await one.isKeptFrom(METADATA_6, CLIENT_PORT), true, 'credentials of a cloud');
    assert.equal(reaches(host, METADATA_6, CLIENT_PORT, PATIENT_S), true, 'they are there');
    for (const shell of shells) await shell.remove();
    for (const organisation of ['six', 'seven']) {
      const name = new Names('node-1').network(organisation);
      await fixture.dockerd.call('DELETE', `/networks/${name}`);
    }
  });

  it('reach no network that was closed to them, but names where this host asks for them', async () => {
    const { dockerd } = fixture;
    const guard = createGuard({
      command: dockerd.namespace.command('nft'),
      closed: [`${CLIENT[4]}/32`],
      resolvers: async () => [METADATA],
    });
    const engine = new DockerEngine({
      socketPath: dockerd.socket,
      owner: 'node-3',
      stateDir: fixture.stateDir,
      guard,
      emptyNetworkMs: 0,
    });
    const names = listen(client, 53);
    try {
      await eventually('names are resolved', async () => reaches(host, METADATA, 53));
      const [open, closed] = [await startShell(fixture), await startShell({ ...fixture, engine })];
      assert.equal(await open.reaches(CLIENT[4], CLIENT_PORT), true);
      assert.equal(await closed.isKeptFrom(CLIENT[4], CLIENT_PORT), true);
      assert.equal(await closed.isKeptFrom(METADATA, CLIENT_PORT), true, 'credentials');
      assert.equal(await closed.reaches(METADATA, 53), true, 'names');
      assert.equal(await open.isKeptFrom(METADATA, 53), true, 'its host asks elsewhere');
      await closed.remove();
    } finally {
      names.kill('SIGKILL');
      await engine.close();
    }
  });

  it('reach no private network that was not opened to them, and answer players of one', async (t) => {
    const LAN = { host: '192.168.7.1', player: '192.168.7.2', other: '10.7.0.2' } as const;
    for (const [where, device, address] of [
      [host, 'wan', `${LAN.host}/24`],
      [client, 'eth0', `${LAN.player}/24`],
      [client, 'eth0', `${LAN.other}/32`],
    ] as const) {
      where.run('ip', 'address', 'add', address, 'dev', device);
      t.after(() => where.run('ip', 'address', 'del', address, 'dev', device));
    }
    addRoute(host, LAN.other, CLIENT[4]);
    const ports = [{ ...PUBLISHED, ip: LAN.host }];
    const usual = await startShell(fixture, { ports });
    assert.equal(await usual.isKeptFrom(LAN.player, CLIENT_PORT), true);
    assert.equal(await usual.isKeptFrom(LAN.other, CLIENT_PORT), true);
    await eventually('a player of the LAN plays', async () => reaches(client, LAN.host, GAME_PORT));
    const command = fixture.dockerd.namespace.command('nft');
    const engine = new DockerEngine({
      socketPath: fixture.dockerd.socket,
      owner: 'node-4',
      stateDir: fixture.stateDir,
      guard: createGuard({ command, opened: ['10.7.0.0/16'] }),
      emptyNetworkMs: 0,
    });
    try {
      const opened = await startShell({ ...fixture, engine });
      assert.equal(await opened.reaches(LAN.other, CLIENT_PORT), true);
      assert.equal(await opened.isKeptFrom(LAN.player, CLIENT_PORT), true);
      await opened.remove();
    } finally {
      await engine.close();
    }
  });

  it('start only behind the guard, which comes back by itself and goes with the last of them', async () => {
    const one = await startShell(fixture);
    const tables = (): string => host.run('nft', 'list', 'tables', 'inet');
    assert.match(tables(), /portcullis_node_/);
    host.run('nft', 'delete', 'table', 'inet', tables().trim().split(' ')[2] ?? '');
    assert.doesNotMatch(tables(), /portcullis_node_/);
    const two = await startShell(fixture);
    assert.match(tables(), /portcullis_node_/);
    await fixture.dockerd.end('SIGKILL');
    await fixture.dockerd.launch();
    assert.match(tables(), /portcullis_node_/);
    await one.remove();
    assert.match(tables(), /portcullis_node_/);
    await two.remove();
    assert.doesNotMatch(tables(), /portcullis_node_/);
    assert.doesNotMatch(host.run('ip', '-brief', 'link'), /^pcn/m);
  });

  it('of two agents are each agent’s own', async () => {
    const other = fixture.open('node-2');
    const mine = await startShell(fixture);
    const spec = fixture.spec(mine.uuid, 'sleep 100');
    assert.equal(await other.inspect(mine.uuid), null);
    assert.deepEqual(await other.list(), []);
    await other.kill(mine.uuid);
    await other.remove(mine.uuid);
    await other.create(spec);
    await other.start(mine.uuid);
    await other.remove(mine.uuid);
    assert.equal((await fixture.engine.inspect(mine.uuid))?.status, 'running');
    assert.equal(await mine.isKeptFrom(HOST[4], HOST_PORT), true, 'its guard stays');
    await mine.remove();
  });

  async function reachesNothingElse(one: ServerShell, foreign: ServerShell): Promise<void> {
    const gateway = (await one.address(4)).replace(/\.\d+$/, '.1');
    const foreignGateway = (await foreign.address(4)).replace(/\.\d+$/, '.1');
    const open = [HOST[4], '192.0.2.1', '172.17.0.1', gateway, foreignGateway];
    const reached = await one.reached([
      [await foreign.address(4), GAME_PORT],
      [METADATA, CLIENT_PORT],
      ...open.map((ip) => [ip, HOST_PORT] as const),
    ]);
    assert.deepEqual(reached, [], 'a foreign server, credentials of a cloud, the host');
    assert.equal(reaches(client, HOST[4], HOST_PORT, PATIENT_S), true, 'it does listen');
    assert.equal(reaches(host, METADATA, CLIENT_PORT, PATIENT_S), true, 'so does the cloud');
  }
});

/** The network as the engine creates it, with IPv6 added. */
async function makeWithIpv6(
  { dockerd }: DockerFixture,
  organisation: string,
  digit: number,
): Promise<void> {
  const names = new Names('node-1');
  const prefix = `fd00:5eed:${digit}::`;
  await dockerd.call('POST', '/networks/create', {
    Name: names.network(organisation),
    Labels: { ...names.labels(organisation), 'portcullis.keep': '' },
    Options: { 'com.docker.network.bridge.name': names.bridge(organisation) },
    EnableIPv6: true,
    IPAM: { Config: [{ Subnet: `${prefix}/64`, Gateway: `${prefix}1` }] },
  });
}

function listen(namespace: Namespace, port: number): ChildProcess {
  return namespace.spawn(['busybox', 'nc', '-ll', '-p', String(port), '-e', 'echo', 'hello'], {
    stdio: 'ignore',
  });
}

function reaches(from: Namespace, ip: string, port: number, seconds = 1): boolean {
  const command = `busybox nc -w ${seconds} ${ip} ${port} </dev/null || true`;
  return from.run('sh', '-c', command).includes('hello');
}
