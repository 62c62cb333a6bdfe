import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { ensurePartitions } from '@portcullis/control/attacks/detection/record/partitions.ts';
import { listen } from '@portcullis/control/db/listen.ts';
import { startEnvironment, type TestEnvironment } from '@portcullis/control/testing/fixture.ts';
import { createParser } from './event-stream.ts';
import { AuthenticationError, createClient, type KeyClient, type ReceivedEvent } from './index.ts';

const IP = '203.0.113.10';
const UUID = '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11';
const RULE = { action: 'allow', protocol: 'tcp', destination_port: '443' } as const;

async function start(t: TestContext): Promise<TestEnvironment & { readonly signal: AbortSignal }> {
  const ending = new AbortController();
  // Before the server stops, so that no client connects again.
  t.after(() => ending.abort());
  const environment = await startEnvironment(t);
  const listening = Promise.withResolvers<void>();
  const listener = listen(environment.databaseUrl, ['portcullis_events'], () => {
    environment.events.wake();
    listening.resolve();
  });
  t.after(() => listener.stop());
  await listening.promise;
  return { ...environment, signal: ending.signal };
}

function clientOf(
  { url }: TestEnvironment,
  of: { readonly authorization: string | null },
): KeyClient {
  return createClient({ baseUrl: url, key: of.authorization?.slice(7) ?? '' });
}

async function take(
  events: AsyncGenerator<ReceivedEvent>,
  count: number,
): Promise<ReceivedEvent[]> {
  const taken: ReceivedEvent[] = [];
  while (taken.length < count) {
    const { value } = await events.next();
    if (value === undefined) break;
    taken.push(value as ReceivedEvent);
  }
  return taken;
}

const reported = ({ kind, target }: ReceivedEvent): string => `${kind} ${target}`;

test('tells an organisation what happens in it, and nobody else', async (t) => {
  const environment = await start(t);
  const { db, acme, other } = environment;
  const acmes = clientOf(environment, acme);
  const stream = acmes.events({ signal: environment.signal, lastEventId: '0-0' });
  const others = clientOf(environment, other).events({
    signal: environment.signal,
    lastEventId: '0-0',
  });
  await acmes.createRules({ ip: IP, body: RULE });
  const attack = {
    id: 7,
    revision: 1,
    organisation_id: 1,
    subject: IP,
    prefix: '203.0.113.0/24',
    attack_type: 'udp_flood',
    peak_pps: 10,
    peak_bps: 80,
    started_at: new Date(),
  };
  await ensurePartitions(db, attack.started_at, 0);
  await db.insertInto('attacks').values(attack).execute();
  await db.updateTable('attacks').set({ mitigated_at: new Date() }).execute();
  await db.updateTable('attacks').set({ until_revision: 2 }).execute();
  const over = { revision: 2, mitigated_at: new Date(), ended_at: new Date() };
  await db
    .insertInto('attacks')
    .values({ ...attack, ...over })
    .execute();
  await clientOf(environment, other).createRules({ ip: '192.0.2.1', body: RULE });
  assert.deepEqual((await take(stream, 4)).map(reported), [
    `write.accepted ${IP}`,
    `attack.opened ${IP}`,
    `attack.mitigated ${IP}`,
    `attack.ended ${IP}`,
  ]);
  assert.deepEqual((await take(others, 1)).map(reported), ['write.accepted 192.0.2.1']);
  const narrow = await environment.client({ abilities: ['attacks.read'] });
  const attacks = clientOf(environment, narrow).events({
    signal: environment.signal,
    lastEventId: '0-0',
  });
  assert.deepEqual((await take(attacks, 1)).map(reported), [`attack.opened ${IP}`]);
  const elsewhere = await environment.client({ prefixes: ['198.51.100.0/24'] });
  const bound = clientOf(environment, elsewhere).events({
    signal: environment.signal,
    lastEventId: '0-0',
  });
  await acmes.createRules({ ip: '198.51.100.10', body: RULE });
  assert.deepEqual((await take(bound, 1)).map(reported), ['write.accepted 198.51.100.10']);
});

test('resumes after the last event, and misses none of a transaction that commits late', async (t) => {
  const environment = await start(t);
  const { db, acme } = environment;
  const client = clientOf(environment, acme);
  const first = new AbortController();
  const stream = client.events({ signal: first.signal, lastEventId: '0-0' });
  await client.createRules({ ip: IP, body: RULE });
  const [seen] = await take(stream, 1);
  first.abort(new Error('enough'));
  await assert.rejects(stream.next(), /enough/);
  const late = Promise.withResolvers<void>();
  const inserted = Promise.withResolvers<void>();
  const event = { organisation_id: 1, kind: 'write.live', data: '{}' };
  const running = db.transaction().execute(async (tx) => {
    await tx
      .insertInto('events')
      .values({ ...event, target: '203.0.113.1' })
      .execute();
    inserted.resolve();
    await late.promise;
  });
  await inserted.promise;
  await db
    .insertInto('events')
    .values({ ...event, target: '203.0.113.2' })
    .execute();
  const resumed = client.events({
    signal: environment.signal,
    lastEventId: seen?.lastEventId ?? '',
  });
  const both = take(resumed, 2);
  environment.events.wake();
  late.resolve();
  await running;
  environment.events.wake();
  assert.deepEqual((await both).map(reported), [
    'write.live 203.0.113.1',
    'write.live 203.0.113.2',
  ]);
});

test('opens a broken stream again, and ends when the key is refused', async (t) => {
  const environment = await start(t);
  const { acme, url } = environment;
  let connections = 0;
  const breaking: typeof fetch = async (input, init) => {
    connections++;
    if (connections === 1) throw new TypeError('the connection broke');
    return fetch(input, init);
  };
  const key = acme.authorization?.slice(7) ?? '';
  const client = createClient({ baseUrl: url, key, fetch: breaking });
  const states: string[] = [];
  const stream = client.events({
    signal: environment.signal,
    lastEventId: '0-0',
    onConnection: (state) => void states.push(state),
  });
  await clientOf(environment, acme).createRules({ ip: IP, body: RULE });
  assert.deepEqual((await take(stream, 1)).map(reported), [`write.accepted ${IP}`]);
  assert.equal(connections, 2);
  assert.deepEqual(states, ['lost', 'open']);
  const refused = createClient({ baseUrl: url, key: 'pcl_wrong' }).events();
  await assert.rejects(refused.next(), AuthenticationError);
});

test('tells when a server changes its state or crashes', async (t) => {
  const environment = await start(t);
  const { db, acme } = environment;
  await db.insertInto('nodes').values({ name: 'node-1', owner: 'fleet' }).execute();
  await db
    .insertInto('eggs')
    .values({ digest: 'a'.repeat(64), egg: '{}' })
    .execute();
  const server = { uuid: UUID, organisation_id: 1, service_id: 501, node_id: 1, name: 'Survival' };
  const limits = { memory_mib: 1, cpu_percent: 1, disk_mib: 1, ip: '192.0.2.9', port: 1 };
  await db
    .insertInto('game_servers')
    .values({ ...server, ...limits, egg_digest: 'a'.repeat(64), egg_name: 'e', owner: 'fleet' })
    .execute();
  const stream = clientOf(environment, acme).events({
    signal: environment.signal,
    lastEventId: '0-0',
  });
  for (const change of [
    { power_state: 'offline' },
    { power_state: 'running' },
    { power_state: 'starting', crashed_at_ms: 1000.5 },
  ]) {
    await db.updateTable('game_servers').set(change).execute();
  }
  const events = await take(stream, 3);
  assert.deepEqual(
    events.map(({ kind, data }) => `${kind} ${String(data['state'])}`),
    ['server.state running', 'server.state starting', 'server.crashed starting'],
  );
});

test('reads messages however their text is cut', () => {
  const text = 'retry: 2000\n\n: idle\n\nid: 1-2\nevent: gap\ndata: {"a":\ndata: 1}\n\n';
  for (const size of [1, 3, 7, 100]) {
    const parse = createParser();
    const messages = [];
    for (let at = 0; at < text.length; at += size)
      messages.push(...parse(text.slice(at, at + size)));
    assert.deepEqual(messages, [{ id: '1-2', event: 'gap', data: '{"a":\n1}' }]);
  }
});
