import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { UNLIMITED } from '@portcullis/core/game-servers/power.ts';
import type { InstanceSpec } from '../engine.ts';
import { renderContainer, renderInstall } from './container/container.ts';
import { chooseVersion, parseDockerHost } from './api/client.ts';
import { describeRefusal, DockerRefusal } from './api/errors.ts';
import { Names } from './labels.ts';
import { parseUsage, type StatsJson } from './container/usage.ts';

const UUID = '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11';

describe('the Docker engine', () => {
  it('uses the newest common API version, and reports if there is none', () => {
    assert.equal(chooseVersion('1.41', '1.12'), '1.41');
    assert.equal(chooseVersion('1.99', '1.44'), '1.51');
    assert.throws(() => chooseVersion('1.30', '1.12'), /older than 1.40/);
    assert.throws(() => chooseVersion('1.99', '1.60'), /begins with 1.60/);
    for (const strange of ['', '1', '1.41\r\nHost: x', '../1.41', '1.99999'])
      assert.throws(() => chooseVersion(strange, '1.12'), RangeError);
  });

  it('accepts only a unix socket', () => {
    assert.equal(parseDockerHost(undefined), '/var/run/docker.sock');
    assert.equal(parseDockerHost('unix:///run/user/1/docker.sock'), '/run/user/1/docker.sock');
    for (const other of ['tcp://127.0.0.1:2375', 'ssh://host', 'unix://', 'unix://relative', '/x'])
      assert.throws(() => parseDockerHost(other), /unix socket only/);
  });

  it('names a port in use and a missing address', () => {
    const words = (text: string): string => {
      const error = describeRefusal(new DockerRefusal(500, text));
      return `${error?.code}: ${error?.message}`;
    };
    const prefix = 'driver failed programming external connectivity on endpoint x (0f): ';
    assert.equal(
      words(`${prefix}Bind for 192.0.2.1:25565 failed: port is already allocated`),
      'port_taken: Port 25565 of 192.0.2.1 is in use by something else on this node.',
    );
    assert.equal(
      words(
        `${prefix}Error starting userland proxy: listen udp4 192.0.2.1:53: bind: address already in use`,
      ),
      'port_taken: Port 53/udp of 192.0.2.1 is in use by something else on this node.',
    );
    assert.equal(
      words(
        `${prefix}Error starting userland proxy: listen tcp6 [2001:db8::7]:80: bind: cannot assign requested address`,
      ),
      'address_missing: This node does not have the address [2001:db8::7].',
    );
    assert.equal(words('No such container: x').split(':')[0], 'refused');
    assert.equal(describeRefusal(new Error('another')), null);
  });

  it('counts memory without the cache for cgroup v1 and v2, and CPU cores by elapsed time', () => {
    const at = (read: string, totalNs: number, stats: Record<string, number>): StatsJson => ({
      read,
      cpu_stats: { cpu_usage: { total_usage: totalNs } },
      memory_stats: { usage: 1000, stats },
      networks: { eth0: { rx_bytes: 1, tx_bytes: 2 }, eth1: { rx_bytes: 10, tx_bytes: 20 } },
    });
    const before = at('2026-11-21T00:00:00.000000000Z', 0, {});
    const one = at('2026-11-21T00:00:02.000000000Z', 3e9, {
      inactive_file: 1,
      total_inactive_file: 300,
    });
    const usage = {
      memoryBytes: 700,
      cpuPercent: 150,
      networkRxBytes: 11,
      networkTxBytes: 22,
    };
    assert.deepEqual(parseUsage(before, one), usage);
    const two = at('2026-11-21T00:00:02.000000000Z', 3e9, { inactive_file: 300 });
    assert.deepEqual(parseUsage(before, two), usage);
    assert.equal(parseUsage(null, one), null);
    assert.equal(parseUsage(one, one), null, 'no time between');
    assert.equal(parseUsage(before, { ...one, memory_stats: {} }), null, 'it ended');
  });

  it('names its objects by node and organisation, within kernel limits', () => {
    const [one, two] = [new Names('node-1'), new Names('node-2')];
    assert.notEqual(one.bridge('acme'), two.bridge('acme'));
    assert.notEqual(one.bridge('acme'), one.bridge('other'));
    assert.ok(one.bridge('a'.repeat(200)).length <= 15);
    assert.notEqual(one.table, two.table);
    assert.match(one.container(UUID, 'game'), /^portcullis-[0-9a-f]{8}-game-6f1c/);
  });

  it('gives a container only the specified privileges', () => {
    const spec: InstanceSpec = {
      uuid: UUID,
      organisation: 'acme',
      image: { reference: 'game:1', local: false },
      command: null,
      fallbackCommand: null,
      env: { STARTUP: './game --name "a b"', EMPTY: '' },
      folder: '/srv/a:b',
      limits: { ...UNLIMITED, memory: 1000, cpu: 150, disk: 10 },
      pidsLimit: 99,
      capabilities: ['NET_BIND_SERVICE'],
      ports: [
        { ip: '192.0.2.1', port: 25565, protocol: 'tcp' },
        { ip: '192.0.2.1', port: 25565, protocol: 'udp' },
      ],
      mounts: [{ source: '/srv/maps', target: '/maps', readOnly: true }],
    };
    const owner = { uid: 7, gid: 8 };
    const made = renderContainer(new Names('node-1'), spec, {
      command: null,
      hasInit: true,
      owner,
      isMapped: false,
      files: [],
    }) as {
      readonly HostConfig: Readonly<Record<string, unknown>>;
    };
    const mounts = made.HostConfig['Mounts'] as readonly object[];
    assert.deepEqual(mounts.at(-1), {
      Type: 'bind',
      Source: '/srv/maps',
      Target: '/maps',
      ReadOnly: true,
      BindOptions: { Propagation: 'rprivate', NonRecursive: true },
    });
    assert.equal('Entrypoint' in made || 'Cmd' in made, false, 'the image’s own command');
    const { HostConfig: host, ...rest } = made;
    assert.deepEqual(
      { ...rest, Labels: null, ExposedPorts: null },
      {
        Image: 'game:1',
        Labels: null,
        ExposedPorts: null,
        Env: ['STARTUP=./game --name "a b"', 'EMPTY='],
        Healthcheck: { Test: ['NONE'] },
        User: '7:8',
        WorkingDir: '/home/container',
        Tty: true,
        OpenStdin: true,
        StdinOnce: false,
      },
    );
    assert.deepEqual(
      { ...host, NetworkMode: null, LogConfig: null, Mounts: null, Ulimits: null },
      {
        NetworkMode: null,
        LogConfig: null,
        Mounts: null,
        Ulimits: null,
        RestartPolicy: { Name: 'no' },
        CapDrop: ['ALL'],
        CapAdd: ['NET_BIND_SERVICE'],
        SecurityOpt: ['no-new-privileges'],
        Init: false,
        ConsoleSize: [50, 200],
        IpcMode: 'private',
        Memory: 1150 * 2 ** 20,
        MemorySwap: 1150 * 2 ** 20,
        MemoryReservation: 1000 * 2 ** 20,
        CpuPeriod: 100_000,
        CpuQuota: 150_000,
        PidsLimit: 99,
        BlkioWeight: 500,
        CpusetCpus: '',
        OomKillDisable: false,
        ReadonlyRootfs: true,
        Tmpfs: { '/tmp': 'rw,exec,nosuid,nodev,size=100m,mode=1777' },
        PortBindings: {
          '25565/tcp': [{ HostIp: '192.0.2.1', HostPort: '25565' }],
          '25565/udp': [{ HostIp: '192.0.2.1', HostPort: '25565' }],
        },
      },
    );
  });

  const limitsOf = (limits: InstanceSpec['limits']): Readonly<Record<string, unknown>> => {
    const image = { reference: 'installer:1', local: false };
    const spec = { uuid: UUID, organisation: 'acme', image, env: {}, folder: '/srv/a', limits };
    const install = { ...spec, entrypoint: 'sh', script: 'true' };
    const made = renderInstall(new Names('node-1'), install, []);
    return (made as { readonly HostConfig: Readonly<Record<string, unknown>> }).HostConfig;
  };

  it('gives a server its swap beyond its memory, none without, and all of the host with -1', () => {
    const swapOf = (swap: number): number => {
      const given = limitsOf({ ...UNLIMITED, memory: 8192, cpu: 100, disk: 8, swap });
      const [memory, total] = [given['Memory'], given['MemorySwap']] as [number, number];
      return total < 0 ? total : (total - memory) / 2 ** 20;
    };
    assert.deepEqual([swapOf(512), swapOf(0), swapOf(-1)], [512, 0, -1]);
  });

  it('gives an install enough memory for a small server, and the memory of a large one', () => {
    const small = limitsOf({ ...UNLIMITED, memory: 64, cpu: 20, disk: 8 });
    assert.equal(small['MemoryReservation'], 1024 * 2 ** 20);
    assert.equal(small['CpuQuota'], 100_000);
    assert.deepEqual((small['Ulimits'] as object[])[1], {
      Name: 'fsize',
      Soft: 8 * 2 ** 20,
      Hard: 8 * 2 ** 20,
    });
    const large = limitsOf({ ...UNLIMITED, memory: 8192, cpu: 400, disk: 8 });
    assert.equal(large['MemoryReservation'], 8192 * 2 ** 20);
    assert.equal(large['CpuQuota'], 400_000);
  });
});
