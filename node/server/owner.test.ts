import assert from 'node:assert/strict';
import { it } from 'node:test';
import { EGG } from '../testing/eggs.ts';
import { TestHost, until } from '../testing/host.ts';

it('restarts a server that has a new owner, once, also if the agent was killed before it could', async (t) => {
  const organisations: string[] = [];
  const host = new TestHost(t);
  const note = (): void => {
    const create = host.engine.create.bind(host.engine);
    host.engine.create = async (spec) => {
      organisations.push(spec.organisation);
      await create(spec);
    };
  };
  note();
  const [uuid = ''] = await host.servers(1, EGG);
  await host.power(uuid, 'start');
  await host.becomes(uuid, 'running');
  const former = organisations[0];
  await host.servers(1, EGG, { organisation: 'theirs' });
  await until(async () => organisations.length === 2);
  await host.becomes(uuid, 'running');
  assert.deepEqual(organisations, [former, 'theirs']);
  assert.ok((await host.lines(uuid)).some((line) => line.includes('has a new owner')));
  // The agent is away while the owner changes, and starts with the server running.
  await host.agent?.stop();
  host.agent = null;
  const { FakeEngine } = await import('../engine/fake.ts');
  host.engine = new FakeEngine(host.engine);
  note();
  await host.servers(1, EGG, { organisation: 'third' });
  await until(async () => organisations.length === 3);
  await host.becomes(uuid, 'running');
  assert.deepEqual(organisations, [former, 'theirs', 'third']);
});

it('leaves a server of a new owner that does not run as it is', async (t) => {
  const host = new TestHost(t);
  const [uuid = ''] = await host.servers(1, EGG);
  await host.servers(1, EGG, { organisation: 'theirs' });
  await until(async () => host.control.report?.builds.length === 1);
  assert.equal(await host.state(uuid), 'offline');
  assert.equal(host.count('create', uuid), 0);
});
