import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { DockerClient } from '../api/client.ts';
import { DockerRefusal } from '../api/errors.ts';
import type { GuardPlan } from './guard-rules.ts';
import { Names } from '../labels.ts';
import { Networks } from './networks.ts';

const NAMES = new Names('node-1');
const CONTAINER = { Labels: { 'portcullis.organisation': 'acme' }, Ports: [] };
const PORT = { ip: '192.0.2.1', port: 7000, protocol: 'tcp' } as const;

test('keeps a network while a container is being created in it, with its ports in the guard', async (t) => {
  const docker = await startDocker(t, []);
  const ports = (): (readonly string[])[] =>
    docker.plans.map(({ published }) => published.map(({ ip, port }) => `${ip} ${port}`));
  await docker.networks.hold('acme', [PORT], async () => {
    await docker.networks.hold('acme', [], async () => {});
    // Its last container is just being removed.
    await docker.networks.sweep();
  });
  assert.deepEqual(docker.deleted, []);
  assert.deepEqual(new Set(ports().flat()), new Set(['192.0.2.1 7000']));
  await docker.networks.sweep();
  assert.deepEqual(docker.deleted, [`/v1.41/networks/${NAMES.network('acme')}`]);
  assert.deepEqual(ports().at(-1), []);
});

test('creates a network again that is removed while a container is being created, a bounded number of times', async (t) => {
  const docker = await startDocker(t, []);
  const name = NAMES.network('acme');
  let tries = 0;
  const done = await docker.networks.hold('acme', [], async () => {
    tries += 1;
    if (tries === 1) throw new DockerRefusal(404, `network ${name} not found`);
    return 'done';
  });
  assert.equal(done, 'done');
  assert.equal(docker.created.length, 2);
  const refused = async (status: number, message: string): Promise<number> => {
    let requested = 0;
    const work = async (): Promise<never> => {
      requested += 1;
      throw new DockerRefusal(status, message);
    };
    await assert.rejects(docker.networks.hold('acme', [], work), { message });
    return requested;
  };
  assert.equal(await refused(404, `network ${name} not found`), 3);
  assert.equal(await refused(404, 'network other not found'), 1);
  assert.equal(await refused(404, 'No such container: x'), 1);
  assert.equal(await refused(500, 'port is already allocated'), 1);
});

test('creates a network again that another program deleted after Docker had answered 409', async (t) => {
  const docker = await startDocker(t, []);
  docker.deleteOnCreate = true;
  assert.equal(await docker.networks.hold('acme', [], async () => 'done'), 'done');
  assert.equal(docker.created.length, 2);
});

test('keeps a network while it has a container', async (t) => {
  const docker = await startDocker(t, [CONTAINER]);
  await docker.networks.sweep();
  assert.deepEqual(docker.deleted, []);
});

test('keeps a network that has just become empty, because Docker may be shutting down', async (t) => {
  const containers: object[] = [];
  const docker = await startDocker(t, containers, NAMES.bridge('acme'), {}, 60_000);
  let nowMs = 1_000_000;
  t.mock.method(performance, 'now', () => nowMs);
  await docker.networks.sweep();
  nowMs += 59_999;
  await docker.networks.sweep();
  assert.deepEqual(docker.deleted, []);
  containers.push(CONTAINER);
  await docker.networks.sweep();
  containers.pop();
  nowMs += 60_000;
  await docker.networks.sweep();
  assert.deepEqual(docker.deleted, [], 'it was used meanwhile');
  nowMs += 60_000;
  await docker.networks.sweep();
  assert.equal(docker.deleted.length, 1);
});

test('keeps a network that the operator marked', async (t) => {
  const docker = await startDocker(t, [], NAMES.bridge('acme'), { 'portcullis.keep': '' });
  await docker.networks.sweep();
  assert.deepEqual(docker.deleted, []);
});

test('does not use a network of another program on a bridge without a guard', async (t) => {
  const docker = await startDocker(t, [], 'br-0123456789ab');
  const never = async (): Promise<void> => assert.fail('it is not guarded');
  await assert.rejects(docker.networks.hold('acme', [], never), {
    code: 'refused',
    message: /Somebody else made the Docker network/,
  });
});

/** The part of Docker that networks use. */
async function startDocker(
  t: TestContext,
  containers: readonly object[],
  bridge = NAMES.bridge('acme'),
  labels: Readonly<Record<string, string>> = {},
  emptyMs: number | undefined = 0,
): Promise<{
  networks: Networks;
  created: string[];
  deleted: string[];
  plans: Pick<GuardPlan, 'published'>[];
  /** The next create answers 409, and the network is then deleted until the create after it. */
  deleteOnCreate: boolean;
}> {
  const folder = mkdtempSync(join(tmpdir(), 'pcl-networks-'));
  const created: string[] = [];
  const deleted: string[] = [];
  const race = { deleteOnCreate: false };
  let absent = false;
  const server = createServer((requested, answer) => {
    const path = requested.url?.split('?')[0] ?? '';
    if (requested.method === 'DELETE') deleted.push(path);
    if (path.endsWith('/networks/create')) {
      created.push(path);
      absent = race.deleteOnCreate;
      race.deleteOnCreate = false;
      if (absent) answer.statusCode = 409;
    } else if (absent && path.includes('/networks/')) {
      answer.statusCode = 404;
      requested.resume();
      answer.end(JSON.stringify({ message: `network ${path.split('/').at(-1)} not found` }));
      return;
    }
    const answers: Readonly<Record<string, unknown>> = {
      '/version': { Version: '20', ApiVersion: '1.41', MinAPIVersion: '1.12' },
      '/v1.41/containers/json': containers,
      '/v1.41/networks': absent
        ? []
        : [
            {
              Options: { 'com.docker.network.bridge.name': bridge },
              Labels: { 'portcullis.organisation': 'acme', ...labels },
            },
          ],
    };
    requested.resume();
    answer.end(JSON.stringify(answers[path] ?? {}));
  });
  const socket = join(folder, 'docker.sock');
  server.listen(socket);
  await once(server, 'listening');
  const client = new DockerClient(socket);
  t.after(() => {
    client.close();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const plans: Pick<GuardPlan, 'published'>[] = [];
  const guard = { apply: async (plan: Pick<GuardPlan, 'published'>) => void plans.push(plan) };
  const networks = new Networks(client, NAMES, guard, emptyMs);
  return Object.assign(race, { networks, created, deleted, plans });
}
