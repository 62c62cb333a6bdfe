import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startDockerFixture, type DockerFixture } from '../../docker/docker-fixture.ts';
import { HOST } from '../../stack/internet.ts';
import { skipUnless } from '../../requirements.ts';
import { GAME_PORT, startShell } from '../../docker/server-shell.ts';
import { startStackFixture, type StackFixture, NEEDS } from '../stack-fixture.ts';

/** Timeout for expected answers; it costs nothing when they come. */
const PATIENT_S = 10;

describe('ports that Docker publishes behind the edge', {
  skip: skipUnless([...NEEDS, 'docker']),
}, () => {
  let fixture: StackFixture;
  let docker: DockerFixture;
  before(async () => {
    fixture = await startStackFixture('engine-edge');
    const namespace = fixture.internet.edge;
    docker = await startDockerFixture('edge', { namespace, defaultBridge: false });
  });
  after(async () => {
    await docker?.stop();
    await fixture?.stop();
  });

  for (const userlandProxy of [true, false]) {
    it(`obey its rules ${userlandProxy ? 'with' : 'without'} docker-proxy`, async () => {
      await docker.dockerd.end('SIGTERM');
      await docker.dockerd.launch({ userlandProxy });
      const families = userlandProxy ? ([4, 6] as const) : ([4] as const);
      const ports = families.map((family) => ({
        ip: HOST[family],
        port: GAME_PORT,
        protocol: 'tcp' as const,
      }));
      const server = await startShell(docker, { ports });
      for (const family of families) await obeys(family);
      await server.remove();
    });
  }

  async function obeys(family: 4 | 6): Promise<void> {
    const { api } = fixture.stack;
    const ip = HOST[family];
    const published = { protocol: 'tcp', destination_port: String(GAME_PORT) };
    assert.equal(isOpen(ip, PATIENT_S), true, 'without a rule');
    const denied = await api.createRule(ip, { action: 'deny', ...published });
    assert.equal(isOpen(ip), false, 'denied by its port');
    await api.deleteRules(ip, denied);
    assert.equal(isOpen(ip, PATIENT_S), true, 'the rule is gone');
    const closed = await api.createRule(ip, { action: 'deny', protocol: 'any' });
    assert.equal(isOpen(ip), false, 'denied with everything');
    const allowed = await api.createRule(ip, { action: 'allow', ...published });
    assert.equal(isOpen(ip, PATIENT_S), true, 'allowed before the deny');
    await api.deleteRules(ip, [...closed, ...allowed]);
  }

  function isOpen(ip: string, seconds = 1): boolean {
    const command = `busybox nc -w ${seconds} ${ip} ${GAME_PORT} </dev/null || true`;
    return fixture.internet.client.run('sh', '-c', command).includes('hello');
  }
});
