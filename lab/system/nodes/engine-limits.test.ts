import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { UNLIMITED } from '@portcullis/core/game-servers/power.ts';
import { DiskGuard } from '@portcullis/node/disk/disk-guard.ts';
import { createMeasureDisk } from '@portcullis/node/disk/measure.ts';
import type { Instance, InstanceSpec, Usage } from '@portcullis/node/engine/engine.ts';
import { startDockerFixture, type DockerFixture } from '../../docker/docker-fixture.ts';
import { skipUnless } from '../../requirements.ts';
import { GAME_PORT, idOf, type ServerShell, startShell } from '../../docker/server-shell.ts';
import { eventually } from '../stack-fixture.ts';

const MIB = 1024 * 1024;
/** How late a neighbour may answer on a machine that does other things as well. */
const RESPONSIVE_MS = 30_000;
/** Timeout for expected answers; it costs nothing when they come. */
const PATIENT_S = 15;

describe('a server in Docker that takes what it can get', {
  skip: skipUnless(['docker', 'nft']),
}, () => {
  let fixture: DockerFixture;
  let neighbour: ServerShell;
  before(async () => {
    fixture = await startDockerFixture('limits');
    neighbour = await startShell(fixture);
  });
  after(() => fixture.stop());
  afterEach(async () => {
    for (const { uuid } of await fixture.engine.list())
      if (uuid !== neighbour.uuid) await fixture.engine.remove(uuid);
  });

  it('ends by itself when it takes more memory than it may, and the end says why', async () => {
    const exits = exitsOf(fixture);
    const uuid = await start('exec tail /dev/zero', {
      limits: { ...UNLIMITED, memory: 32, cpu: 100, disk: 64 },
    });
    await eventually('it is reported', async () => exits.has(uuid));
    const { exitCode, oomKilled } = exits.get(uuid) ?? {};
    assert.deepEqual({ exitCode, oomKilled }, { exitCode: 137, oomKilled: true });
    await staysResponsive(neighbour);
  });

  it('may swap as much as it was given and no more, none unless it was', async () => {
    const { SwapLimit: isLimited } = JSON.parse(await fixture.dockerd.call('GET', '/info'));
    for (const swap of [0, 64, -1]) {
      const limits = { ...UNLIMITED, memory: 100, cpu: 100, disk: 64, swap };
      const server = await startShell(fixture, { limits });
      const id = await idOf(fixture, server.uuid);
      const { HostConfig: host } = JSON.parse(
        await fixture.dockerd.call('GET', `/containers/${id}/json`),
      );
      // Docker gives up on the limit where the kernel has none.
      const allowed = swap < 0 || !isLimited ? -1 : host.Memory + swap * MIB;
      assert.equal(host.MemorySwap, allowed, `${swap} MiB`);
      if (isLimited && swap >= 0) assert.equal(await swapOfKernel(server), swap * MIB);
      await server.remove();
    }
  });

  it('has the weight of disks, the cores and the way to end that it was given', async () => {
    const { CgroupVersion: cgroup } = JSON.parse(await fixture.dockerd.call('GET', '/info'));
    const limits = { ...UNLIMITED, memory: 64, io: 900, cores: '0', oom: false };
    const server = await startShell(fixture, { limits });
    const id = await idOf(fixture, server.uuid);
    const { HostConfig: host } = JSON.parse(
      await fixture.dockerd.call('GET', `/containers/${id}/json`),
    );
    assert.equal(host.CpusetCpus, '0');
    assert.match((await server.run('cat /proc/self/status')).output, /^Cpus_allowed_list:\s+0$/m);
    // Docker gives up on what the kernel does not have: the weight without a scheduler for it, the switch with cgroup 2.
    assert.ok([0, 900].includes(host.BlkioWeight), `weight ${host.BlkioWeight}`);
    if (cgroup === '1') assert.equal(host.OomKillDisable, true);
    await server.remove();
  });

  it('starts on no core that the host lacks, and says so', async () => {
    const limits = { ...UNLIMITED, cores: '4000' };
    await assert.rejects(start('true', { limits }), /cpu/i);
  });

  it('has no limit of memory, processor and disk at 0', async () => {
    const server = await startShell(fixture, { limits: UNLIMITED });
    const id = await idOf(fixture, server.uuid);
    const { HostConfig: host } = JSON.parse(
      await fixture.dockerd.call('GET', `/containers/${id}/json`),
    );
    assert.deepEqual([host.Memory, host.CpuQuota, host.NanoCpus ?? 0], [0, 0, 0]);
    assert.match((await server.run('ulimit -f')).output, /unlimited/);
    await server.remove();
  });

  it('sees a folder that the host offers, and writes to it only where it may', async () => {
    const shared = mkdtempSync(join(tmpdir(), 'pcl-mount-'));
    try {
      writeFileSync(join(shared, 'map'), 'de_dust2');
      chmodSync(shared, 0o777);
      const mounts = [
        { source: shared, target: '/home/container/maps', readOnly: true },
        { source: shared, target: '/shared', readOnly: false },
      ];
      const server = await startShell(fixture, { mounts });
      assert.match((await server.run('cat /home/container/maps/map')).output, /de_dust2/);
      assert.notEqual((await server.run('touch /home/container/maps/file')).status, 0);
      assert.equal((await server.run('touch /shared/file')).status, 0);
      assert.ok(readdirSync(shared).includes('file'));
      await server.remove();
    } finally {
      rmSync(shared, { recursive: true, force: true });
    }
  });

  it('multiplies up to its number of processes and no further, and ends at one kill', async () => {
    const uuid = await start(
      'bomb() { while :; do (bomb) & sleep 100 & done; }; bomb & read forever',
      { pidsLimit: 50 },
    );
    const id = await idOf(fixture, uuid);
    await eventually('it is full', async () => {
      return (await fixture.engine.recentOutput(uuid, 1000)).includes("can't fork");
    });
    for (let round = 0; round < 5; round += 1) {
      const processes = fixture.dockerd.processesOf(id).length;
      assert.ok(processes > 10 && processes <= 50, `${processes} processes`);
      await staysResponsive(neighbour);
    }
    await fixture.engine.kill(uuid);
    assert.equal((await fixture.engine.inspect(uuid))?.status, 'exited');
    assert.deepEqual(fixture.dockerd.processesOf(id), []);
  });

  it('gets its share of the processors, however many of it ask', async () => {
    const uuid = await start('while :; do :; done & while :; do :; done & while :; do :; done', {
      limits: { ...UNLIMITED, memory: 32, cpu: 40, disk: 64 },
    });
    const seen: Usage[] = [];
    const stop = fixture.engine.watchUsage(uuid, (usage) => seen.push(usage));
    await eventually('it was measured', async () => seen.length >= 5);
    stop();
    // A measurement that comes late is of another time than it says.
    const shares = seen.map(({ cpuPercent }) => cpuPercent).toSorted((one, other) => one - other);
    const half = shares[Math.floor(shares.length / 2)] ?? 0;
    assert.ok(half > 15 && half < 55, `${half} % of a core in the middle`);
    await staysResponsive(neighbour);
  });

  it('fills no disk: no file grows past the limit, and their sum ends it', async () => {
    const limitMib = 8;
    const limits = { ...UNLIMITED, memory: 32, cpu: 50, disk: limitMib };
    const filler = 'dd if=/dev/zero of=big bs=1M count=100; i=0; while :; do i=$((i + 1));';
    const uuid = await start(`${filler} dd if=/dev/zero of=f$i bs=1M count=1 2>/dev/null; done`, {
      limits,
    });
    const folder = fixture.folder(uuid);
    const exits = exitsOf(fixture);
    const guard = new DiskGuard({
      measure: createMeasureDisk(),
      servers: () => [{ uuid, folder, limitMib, writes: exits.has(uuid) ? 'nothing' : 'game' }],
      onMeasured: () => {},
      // A game that takes its time to end, or does not, is the one that matters here.
      act: (server, action) => {
        if (action === 'kill') void fixture.engine.kill(server).catch(() => undefined);
      },
      onError: (_, error) => assert.fail(String(error)),
      freeBytes: async () => {
        const { bavail, bsize } = statfsSync(folder);
        return bavail * bsize;
      },
    });
    guard.start();
    try {
      await eventually('it is ended', async () => exits.has(uuid));
      assert.ok(statSync(join(folder, 'big')).size <= limitMib * MIB);
      await staysResponsive(neighbour);
      const before = readdirSync(folder).length;
      assert.ok(before < 4096, `${before} MiB were written`);
      assert.equal((await neighbour.run('echo mine > file && cat file')).output, 'mine\n');
      assert.equal(readdirSync(folder).length, before, 'nothing of it writes any more');
    } finally {
      await guard.stop();
    }
  });

  it('writes only to its folder and a small /tmp', async () => {
    const shell = await startShell(fixture);
    for (const place of [
      '/file',
      '/etc/file',
      '/bin/file',
      '/home/file',
      '/dev/file',
      '/proc/file',
    ])
      assert.notEqual((await shell.run(`touch ${place}`)).status, 0, place);
    assert.equal((await shell.run('touch /tmp/file /home/container/file')).status, 0);
    assert.notEqual((await shell.run('dd if=/dev/zero of=/tmp/big bs=1M count=200')).status, 0);
  });

  it('has only the rights of its account', async () => {
    const shell = await startShell(fixture);
    const { output } = await shell.run(
      'id; cat /proc/self/status; cat /proc/sys/kernel/core_pattern',
    );
    assert.match(output, /uid=61234\(container\) gid=61234\(container\) groups=61234/);
    assert.match(output, /CapEff:\s+0{16}/);
    assert.match(output, /CapBnd:\s+0{16}/);
    assert.match(output, /NoNewPrivs:\s+1/);
    assert.match(output, /Seccomp:\s+2/);
    for (const command of [
      'ping -c 1 127.0.0.1',
      'mknod /tmp/x b 8 0',
      'chown 0 /tmp',
      'mount -t proc none /tmp',
    ])
      assert.notEqual((await shell.run(command)).status, 0, command);
    assert.notEqual((await shell.run('ls /var/run/docker.sock /run/docker.sock')).status, 0);
  });

  it('keeps the one capability that its egg states, and no other', async () => {
    const shell = await startShell(fixture, { capabilities: ['NET_BIND_SERVICE'] });
    const { output } = await shell.run('cat /proc/self/status');
    // CAP_NET_BIND_SERVICE is 10.
    assert.match(output, /CapBnd:\s+0{13}400\b/);
    // As Docker 20 has it for whoever is not root: see docs/decisions.
    assert.match(output, /CapEff:\s+0{16}/);
  });

  it('floods its console without taking memory of the agent, or the disk', async () => {
    const lines = 100_000;
    const uuid = randomUUID();
    const { engine, dockerd } = fixture;
    const line = 'x'.repeat(200);
    await engine.create(
      fixture.spec(uuid, `i=0; while read -r n; do yes ${line} | head -n $n; echo end; done`),
    );
    let seen = 0;
    let tail = '';
    const console = await engine.attach(uuid, (chunk) => {
      for (const byte of chunk) if (byte === 10) seen += 1;
      tail = (tail + chunk.toString('latin1')).slice(-20);
    });
    await engine.start(uuid);
    const flood = async (): Promise<number> => {
      seen = 0;
      tail = '';
      await console.write(Buffer.from(`${lines}\n`));
      await eventually('the flood ends', async () => tail.includes('end\r\n'), 60_000);
      assert.equal(seen, lines + 2, 'with the echo of the command and the end');
      return process.memoryUsage.rss();
    };
    await flood();
    const before = await flood();
    const grown = (await flood()) - before;
    assert.ok(grown < 30 * MIB, `${Math.round(grown / MIB)} MiB`);
    // Docker writes its log beside the attached stream, a little later.
    await eventually('the log holds the end', async () => {
      const recent = await engine.recentOutput(uuid, 100);
      return recent.toString().endsWith('x\r\nend\r\n');
    });
    const logs = join(dockerd.dataRoot, 'containers', await idOf(fixture, uuid), 'local-logs');
    const bytes = readdirSync(logs).reduce((sum, name) => sum + statSync(join(logs, name)).size, 0);
    assert.ok(bytes < 8 * MIB, `${bytes} bytes of logs after ${3 * lines * line.length}`);
  });

  async function start(script: string, more: Partial<InstanceSpec>): Promise<string> {
    const uuid = randomUUID();
    await fixture.engine.create(fixture.spec(uuid, script, more));
    await fixture.engine.start(uuid);
    return uuid;
  }

  async function staysResponsive(server: ServerShell): Promise<void> {
    const begin = performance.now();
    await server.run('true');
    const address = await server.address(4);
    const said = fixture.dockerd.namespace.run(
      'busybox',
      'nc',
      '-w',
      String(PATIENT_S),
      address,
      String(GAME_PORT),
    );
    assert.equal(said, 'hello\n');
    const tookMs = performance.now() - begin;
    assert.ok(tookMs < RESPONSIVE_MS, `${Math.round(tookMs)} ms`);
  }
});

/** Bytes of swap that the kernel allows the container, by either version of control groups. */
async function swapOfKernel(server: ServerShell): Promise<number> {
  const folder = '/sys/fs/cgroup';
  const second = await server.run(`cat ${folder}/memory.swap.max`);
  if (second.status === 0) return Number(second.output);
  const file = `${folder}/memory/memory`;
  const first = await server.run(`cat ${file}.memsw.limit_in_bytes ${file}.limit_in_bytes`);
  const [total = 0, memory = 0] = first.output.trim().split('\n').map(Number);
  return total - memory;
}

function exitsOf({ engine }: DockerFixture): ReadonlyMap<string, Instance> {
  const exits = new Map<string, Instance>();
  engine.onEvent((event) => {
    if (event.kind !== 'changed') return;
    void engine.inspect(event.uuid).then((instance) => {
      if (instance?.status === 'exited') exits.set(event.uuid, instance);
    });
  });
  return exits;
}
