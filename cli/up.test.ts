import { FILTERS } from '@portcullis/core/filters/catalogue.ts';
import { readHostNetwork } from './up/host-network.ts';
import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { netflowV5 } from '@portcullis/collector/testing/datagrams.ts';
import { eventually } from './testing/eventually.ts';
import { CommandSession, RunningCommand } from './testing/run.ts';
import { leaveUsualPort } from './testing/usual-port.ts';

const FLOW = {
  source: '198.51.100.7',
  destination: '192.0.2.10',
  protocol: 17,
  sourcePort: 53,
  destinationPort: 4444,
  tcpFlags: 0,
  packets: 1000,
  bytes: 500_000,
  firstMs: 0,
  lastMs: 0,
};

interface Started {
  readonly url: string;
  readonly mode: string;
  readonly edge: string | null;
  readonly keys: readonly {
    readonly key: string;
    readonly name: string;
    readonly organisation: string;
  }[];
  readonly addresses: readonly string[];
  readonly node: { readonly engine: string; readonly problem: string | null } | null;
  readonly server: {
    readonly uuid: string;
    readonly ip: string;
    readonly problem: string | null;
  } | null;
  readonly operator_link: string | null;
}

interface OperatedServer {
  readonly uuid: string;
  readonly node: string;
  readonly build: { readonly state: string };
}

interface ListedCollector {
  readonly connected: boolean;
  readonly report: {
    readonly listening: string | null;
    readonly problem: string | null;
    readonly unlisted_datagrams: number;
    readonly exporters: readonly { readonly ip: string; readonly records: number }[];
  } | null;
}

suite('one `up`, used through the commands', { timeout: 400_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-cli-'));
  const env = { PATH: process.env['PATH'], HOME: folder, PORTCULLIS_DATA: join(folder, 'data') };
  const session = new CommandSession(env);
  let access: Readonly<Record<string, string>> = {};
  const portcullis = (...args: readonly string[]) => session.run(args, access);
  let up: RunningCommand;
  let url = '';
  let first: Started;
  let uuid = '';
  let releasePort = (): void => {};
  const file = join(folder, 'fleet.yaml');
  let takenPort: Socket;
  let exporter: Socket;
  let stranger: Socket;
  let port = 0;
  let flows: NodeJS.Timeout;

  before(async () => {
    // As root, PostgreSQL runs as another account, which must traverse the folder.
    chmodSync(folder, 0o711);
    releasePort = await leaveUsualPort();
    first = await start();
    access = { PORTCULLIS_URL: url, PORTCULLIS_API_KEY: first.keys[0]?.key ?? '' };
    uuid = first.server?.uuid ?? '';
    // Collectors report every 10 s: they start now and are checked after the other tests.
    [takenPort, exporter, stranger] = await Promise.all([bind(), bind(), bind('127.0.0.2')]);
    const free = await bind();
    ({ port } = free.address());
    free.close();
    await apply(collectorAt(port, '127.0.0.1'));
    flows = setInterval(() => {
      for (const socket of [exporter, stranger]) socket.send(netflowV5([FLOW]), port, '127.0.0.1');
    }, 100);
  });
  after(async () => {
    clearInterval(flows);
    releasePort();
    if (up.child.exitCode === null) await up.stop();
    await session.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('the first start prints one JSON document with a key that can read its address', async () => {
    assert.equal(first.mode, 'observe');
    assert.equal(first.edge, 'local');
    assert.equal(await readWith(first.keys[0]?.key ?? ''), 200);
  });

  test('the first start builds and starts a game server, which all four operations can use', async () => {
    assert.partialDeepStrictEqual(first.node, { name: 'local', engine: 'both', problem: null });
    assert.equal(first.server?.problem, null);
    const listed = (await api('GET', '')).data as { uuid: string; provisioned: boolean }[];
    assert.deepEqual(
      listed.map((server) => [server.uuid, server.provisioned]),
      [[uuid, true]],
    );
    // Resources are measured about once a second and are null before.
    await eventually('it uses memory', async () => {
      const { state, resources } = (await api('GET', `/${uuid}`)).data as Record<string, unknown>;
      assert.equal(state, 'running');
      return ((resources as { memory_bytes: number } | null)?.memory_bytes ?? 0) > 0;
    });
    const accepted = { ok: true, message: '' };
    const command = { command: 'say hello there' };
    assert.deepEqual(await api('POST', `/${uuid}/command`, command), accepted);
    assert.deepEqual(await api('POST', `/${uuid}/power`, { signal: 'start' }), accepted);
  });

  test('the first server listens where others reach it, and its address can have every filter', async () => {
    const reachable = readHostNetwork().addresses.find((address) => !address.includes(':'));
    assert.equal(first.server?.ip, reachable ?? '127.0.0.1');
    const [address] = first.addresses;
    const headers = { authorization: `Bearer ${first.keys[0]?.key}` };
    const path = `${url}/api/v1/firewall/ips/${address}/filters/available`;
    const { data } = (await (await fetch(path, { headers })).json()) as { data: unknown[] };
    assert.equal(data.length, FILTERS.length);
  });

  test('the link of the first start makes an owner of its organisation', async () => {
    const token = first.operator_link?.split('#')[1];
    const reply = await fetch(`${url}/api/portal/links/read`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-portcullis-csrf': '1', origin: url },
      body: JSON.stringify({ token }),
    });
    const text = await reply.text();
    assert.equal(reply.status, 200, text);
    assert.partialDeepStrictEqual(JSON.parse(text), {
      data: { kind: 'operator', organisation: 'Default', role: 'owner' },
    });
  });

  test('servers lists, follows, restarts, stops and starts a server by name', async () => {
    const listed = await portcullis('servers', 'list', '--json');
    assert.equal((JSON.parse(listed.out) as { data: unknown[] }).data.length, 1);
    assert.match((await portcullis('servers', 'logs', 'Hearth')).out, /hello there/);
    const following = new RunningCommand(['servers', 'logs', 'Hearth', '--follow'], {
      ...env,
      ...access,
    });
    await following.prints(/said to 0: hello there/);
    await portcullis('servers', 'command', 'Hearth', 'say', 'second line');
    await following.prints(/said to 0: second line/);
    const { out } = await following.stop();
    for (const line of ['said to 0: hello there', 'said to 0: second line'])
      assert.equal(out.split(line).length, 2, 'each line is printed once');
    await power('restart', 'running');
    const unknownSignal = await portcullis('servers', 'power', 'explode', 'Hearth');
    assert.equal(unknownSignal.code, 2);
    const unknown = await portcullis('servers', 'show', 'Nobody');
    assert.equal(unknown.code, 1);
    assert.match(unknown.err, /sees no server Nobody/);
  });

  test('a command to an offline server is refused with the reason of the node and exit code 1', async () => {
    await power('stop', 'offline');
    const { code, err } = await portcullis('servers', 'command', 'Hearth', 'list');
    assert.equal(code, 1);
    assert.match(err, /The node refused: .*offline/);
    await power('start', 'running');
  });

  test('nodes lists the connected local node and rejects enrolling an unknown node', async () => {
    const { out } = await portcullis('nodes', 'list', '--json');
    const { data: nodes } = JSON.parse(out) as { data: { name: string; connected: boolean }[] };
    assert.deepEqual(
      nodes.map(({ name, connected }) => [name, connected]),
      [['local', true]],
    );
    const unknown = await portcullis('nodes', 'enrol', 'nowhere');
    assert.equal(unknown.code, 1);
    assert.match(unknown.err, /no node nowhere/);
  });

  test('explain prints the verdict and what decided it', async () => {
    const [ip = ''] = first.addresses;
    const packet = ['--protocol', 'udp', '--port', '9', '--from', '192.0.2.7'];
    const { code, out } = await portcullis('explain', ip, ...packet, '--json');
    assert.equal(code, 0);
    assert.equal((JSON.parse(out) as { data: { verdict: string } }).data.verdict, 'pass');
  });

  test('a second `up` on the same data fails and explains what to do', async () => {
    const { code, out, err } = await portcullis('up');
    assert.equal(code, 1);
    assert.equal(out, '');
    assert.match(err, /another portcullis is up on .*--data/);
  });

  test('a created key works, and is refused within two seconds after it is revoked', async () => {
    const options = ['--organisation', 'default', '--name', 'ci', '--ability', 'firewall.read'];
    const created = await portcullis('keys', 'create', ...options, '--json');
    const { data } = JSON.parse(created.out) as { data: { id: number; key: string } };
    const { id, key } = data;
    assert.equal(await readWith(key), 200);
    assert.equal((await portcullis('keys', 'revoke', String(id))).code, 0);
    await eventually('it is refused', async () => (await readWith(key)) === 401, 2_000);
    const { out } = await portcullis('keys', 'list', '--json');
    const { data: listed } = JSON.parse(out) as {
      data: readonly { id: number; revoked_at: string | null }[];
    };
    assert.notEqual(listed.find((each) => each.id === id)?.revoked_at, null);
    assert.equal(out.includes(key), false);
  });

  test('a server made with a key of the operator is built, and ends', async () => {
    const may = ['--operator', '--name', 'shop', '--ability', 'operator.read', 'operator.manage'];
    const { out: made, err } = await portcullis('keys', 'create', ...may);
    assert.match(made, /^pcl_/, err);
    const operator = async (...args: readonly string[]) => {
      const asOperator = { ...access, PORTCULLIS_API_KEY: made.trim() };
      const { code, out, err: why } = await session.run(['operator', ...args], asOperator);
      assert.equal(code, 0, why);
      const { data } = JSON.parse(out) as { data: OperatedServer | OperatedServer[] };
      return [data].flat();
    };
    const order = join(folder, 'order.json');
    const wanted = {
      organisation: 'default',
      service: 1,
      external_id: 'order-1',
      name: 'Second',
      egg: 'eggs/hearth.json',
      limits: { memory: 256, cpu: 100, disk: 512 },
    };
    writeFileSync(order, JSON.stringify(wanted));
    const [server] = await operator('createServer', '--body', order, '--once', 'order-1');
    assert.equal(server?.node, 'local');
    const uuid = `uuid=${server.uuid}`;
    const isBuilt = async () => (await operator('readServer', uuid))[0]?.build.state;
    await eventually('it is built', async () => (await isBuilt()) === 'built', 60_000);
    await operator('suspendServer', uuid);
    const start = await portcullis('servers', 'power', 'start', 'Second');
    assert.equal(start.code, 1);
    assert.match(start.err, /suspended/);
    await operator('removeServer', uuid);
    assert.deepEqual(await operator('listServers', 'external_id=order-1'), []);
  });

  test('an error of control is printed with the field and exit code 1', async () => {
    const options = ['--organisation', 'default', '--name', 'x', '--ability', 'no.such'];
    const { code, err } = await portcullis('keys', 'create', ...options);
    assert.equal(code, 1);
    assert.match(err, /abilities.*is no ability/);
    const unknown = await portcullis('keys', 'revoke', '999999');
    assert.equal(unknown.err, 'portcullis: There is no key 999999.\n');
  });

  suite('with collectors in its fleet', () => {
    after(() => [takenPort, exporter, stranger].forEach((socket) => socket.close()));

    test('a collector accepts flows of its exporters and of no other address', async () => {
      const { report } = await collector(
        ({ report: now }) =>
          (now?.exporters[0]?.records ?? 0) > 0 && (now?.unlisted_datagrams ?? 0) > 0,
      );
      clearInterval(flows);
      assert.equal(report?.listening, `127.0.0.1:${port}`);
      assert.deepEqual(
        report.exporters.map(({ ip }) => ip),
        ['127.0.0.1'],
      );
    });

    test('a collector is a process without rights', () => {
      const status = readFileSync(`/proc/${collectorPid()}/status`, 'utf8');
      if (process.getuid?.() === 0) assert.match(status, /^Uid:\s+65533\s+65533/m);
      assert.match(status, /^CapEff:\s+0+$/m);
    });

    test('a killed collector is started again', async () => {
      process.kill(collectorPid() ?? 0, 'SIGKILL');
      await up.prints(/collector flows ended \(SIGKILL\); starting it again/, 'err');
      await eventually('it is started', async () => collectorPid() !== null);
      await collector(({ connected, report }) => connected && report?.listening !== null);
    });

    test('a changed file takes effect without a restart, and an address in use is reported', async () => {
      const pid = collectorPid();
      await apply(collectorAt(takenPort.address().port, '127.0.0.9'));
      const { report } = await collector(({ report: now }) => (now?.problem ?? null) !== null);
      assert.match(report?.problem ?? '', /taken by another program: end that, or choose another/);
      assert.equal(report?.listening, null);
      await apply(collectorAt(port, '127.0.0.9'));
      const { report: changed } = await collector(
        ({ report: now }) =>
          now?.listening === `127.0.0.1:${port}` &&
          now.exporters.some(({ ip }) => ip === '127.0.0.9'),
      );
      assert.equal(changed?.exporters.length, 1);
      assert.equal(collectorPid(), pid);
    });

    test('a collector that is removed from the file stops', async () => {
      await apply('');
      await eventually('it stops', async () => collectorPid() === null);
    });

    /** Waits until the only collector matches. */
    async function collector(
      matches: (found: ListedCollector) => boolean,
    ): Promise<ListedCollector> {
      let found: ListedCollector | undefined;
      await eventually('the collector matches', async () => {
        const { out } = await portcullis('collectors', 'list', '--json');
        [found] = (JSON.parse(out) as { data: ListedCollector[] }).data;
        return found !== undefined && matches(found);
      });
      return found as unknown as ListedCollector;
    }

    function collectorPid(): number | null {
      const pid = readdirSync('/proc').find((name) => {
        try {
          const command = readFileSync(`/proc/${name}/cmdline`, 'utf8');
          const parent = /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${name}/status`, 'utf8'))?.[1];
          return Number(parent) === up.child.pid && command.includes('collector/main.ts');
        } catch {
          return false;
        }
      });
      return pid === undefined ? null : Number(pid);
    }
  });

  test('restarts keep the data, print no key, and count no crash of the game server', async () => {
    for (let restarts = 0; restarts < 2; restarts += 1) {
      assert.equal((await up.stop()).code, 0);
      await assert.rejects(fetch(url));
      assert.deepEqual((await start()).keys, []);
      assert.equal(await readWith(first.keys[0]?.key ?? ''), 200);
    }
    await eventually('it runs', async () => {
      const shown = await api('GET', `/${uuid}`);
      return (shown.data as { state: unknown }).state === 'running';
    });
    const logs = await portcullis('servers', 'logs', 'Hearth');
    assert.doesNotMatch(logs.out, /crash|by itself/);
  });

  test('a first key that nobody saw is revoked, and the next start shows another', async () => {
    assert.equal((await up.stop()).code, 0);
    // What an interrupted first start leaves.
    writeFileSync(join(folder, 'data', 'first-key-unseen'), '');
    const [key] = (await start()).keys;
    assert.equal(await readWith(key?.key ?? ''), 200);
    assert.equal(await readWith(first.keys[0]?.key ?? ''), 401);
    assert.equal(existsSync(join(folder, 'data', 'first-key-unseen')), false);
  });

  test('keys of a fleet file that may not have been shown are named, and the first key is replaced too', async () => {
    assert.equal((await up.stop()).code, 0);
    const unseen = join(folder, 'data', 'fleet-keys-unseen');
    writeFileSync(file, fleetWith('    keys: [{ name: ci, abilities: [attacks.read] }]\n'));
    // What an interrupted first start leaves.
    writeFileSync(join(folder, 'data', 'first-key-unseen'), '');
    const { keys } = await start('--fleet', file);
    assert.deepEqual(
      keys.map(({ name, organisation }) => [organisation, name]),
      [
        ['default', 'first'],
        ['acme', 'ci'],
      ],
    );
    assert.equal(await readWith(keys[0]?.key ?? ''), 200);
    assert.equal(existsSync(unseen), false);
    assert.equal((await up.stop()).code, 0);
    writeFileSync(unseen, new Date(Date.now() - 600_000).toISOString());
    assert.deepEqual((await start('--fleet', file)).keys, []);
    assert.match(up.err, /The key ci of acme was made by a start that may not have shown it/);
    const create = /portcullis (keys create .*)$/m.exec(up.err)?.[1]?.split(' ') ?? [];
    assert.equal((await portcullis(...create)).code, 0, up.err);
    assert.equal(existsSync(unseen), false);
  });

  function collectorAt(at: number, exporter: string): string {
    return `collectors:
  - { name: flows, listen: "127.0.0.1:${at}", exporters: [{ ip: ${exporter}, prefixes: all }] }
`;
  }

  async function apply(collectors: string): Promise<void> {
    writeFileSync(file, fleetWith(collectors));
    const { code, err } = await portcullis('fleet', 'apply', file);
    assert.equal(code, 0, err);
  }

  /** `more`: further lines, of the organisation first. */
  function fleetWith(more: string): string {
    return `organisations:
  acme:
    name: Acme
    flags: [attack_history_api]
    asns: [64500]
    prefixes:
      - { cidr: 192.0.2.0/24, asn: 64500, since: "2026-01-01T00:00:00+00:00" }
${more}`;
  }

  async function start(...more: readonly string[]): Promise<Started> {
    const args = ['up', '--listen', '127.0.0.1:0', '--metrics-listen', 'off', '--json', ...more];
    up = new RunningCommand(args, env);
    const started = JSON.parse(await up.prints(/\}\n$/)) as Started;
    ({ url } = started);
    return started;
  }

  async function power(signal: string, state: string): Promise<void> {
    const command = ['servers', 'power', signal, 'Hearth', '--wait'];
    const { code, out, err } = await portcullis(...command);
    assert.equal(code, 0, err);
    assert.match(out, new RegExp(`^Hearth is ${state}, after`));
  }

  async function readWith(key: string): Promise<number> {
    const response = await fetch(`${url}/api/v1/firewall/ips/${first.addresses[0]}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    await response.body?.cancel();
    return response.status;
  }

  async function api(method: string, path: string, body?: object) {
    const response = await fetch(`${url}/api/v1/game-servers${path}`, {
      method,
      headers: {
        authorization: `Bearer ${first.keys[0]?.key ?? ''}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return (await response.json()) as Record<string, unknown>;
  }
});

async function bind(address = '127.0.0.1'): Promise<Socket> {
  const socket = createSocket('udp4').bind(0, address);
  await once(socket, 'listening');
  return socket;
}
