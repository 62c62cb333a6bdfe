import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, it } from 'node:test';
import { BUSYBOX, importBusybox } from '../docker/docker-image.ts';
import { Dockerd } from '../docker/dockerd.ts';
import { require } from '../requirements.ts';

describe('the dockerd of tests', () => {
  it('runs a container, survives its own end, and leaves nothing of itself behind', async (t) => {
    if (!require(t, ['docker'])) return;
    const dockerd = await Dockerd.start('self', { liveRestore: true });
    const { name } = dockerd.namespace;
    const group = `pcl-${process.pid}-self`;
    try {
      await importBusybox(dockerd);
      const id = await run(dockerd, ['sleep', '1000']);
      assert.match(dockerd.namespace.run('iptables-save'), /DOCKER/);
      await dockerd.end('SIGKILL');
      await dockerd.launch();
      assert.equal(await isRunning(dockerd, id), true, 'live restore');
      await dockerd.end('SIGTERM');
      await dockerd.launch({ liveRestore: false });
      assert.equal(await isRunning(dockerd, id), false, 'without live restore');
      await run(dockerd, ['sleep', '1000']);
      assert.notDeepEqual(groupsNamed(group), []);
    } finally {
      await dockerd.stop();
    }
    assert.deepEqual(groupsNamed(group), []);
    assert.equal(existsSync(`/run/netns/${name}`), false);
    assert.equal(existsSync(dirname(dockerd.socket)), false);
    assert.doesNotMatch(readFileSync('/proc/self/mounts', 'utf8'), /pcl-dockerd-/);
    assert.deepEqual(commandLinesWith(dirname(dockerd.socket)), []);
  });
});

async function run(dockerd: Dockerd, command: readonly string[]): Promise<string> {
  const made = await dockerd.call('POST', '/containers/create', {
    Image: BUSYBOX,
    Cmd: command,
    HostConfig: { Init: true },
  });
  const { Id: id } = JSON.parse(made) as { Id: string };
  await dockerd.call('POST', `/containers/${id}/start`);
  return id;
}

async function isRunning(dockerd: Dockerd, id: string): Promise<boolean> {
  const container = JSON.parse(await dockerd.call('GET', `/containers/${id}/json`));
  return container.State.Running as boolean;
}

function groupsNamed(name: string): string[] {
  return globSync([`/sys/fs/cgroup/${name}`, `/sys/fs/cgroup/*/${name}`]);
}

function commandLinesWith(text: string): string[] {
  return globSync('/proc/[0-9]*/cmdline').flatMap((path) => {
    try {
      const line = readFileSync(path, 'utf8');
      return line.includes(text) ? [line.replaceAll('\0', ' ')] : [];
    } catch {
      return [];
    }
  });
}
