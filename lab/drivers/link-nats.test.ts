import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { ControlReply } from '@portcullis/link/messages/messages.ts';
import { NatsAgent } from '@portcullis/link/nats/agent.ts';
import { LinkError } from '@portcullis/link/transport/transport.ts';
import { openConnection, requireAuthentication } from '@portcullis/link/nats/connection.ts';
import { NatsControl } from '@portcullis/link/nats/control.ts';
import { NatsReplicas } from '@portcullis/link/nats/replicas.ts';
import { subjectsOf } from '@portcullis/link/nats/subjects.ts';
import {
  confirm,
  EDGE,
  linkError,
  nextConnect,
  TIMEOUT_MS,
} from '@portcullis/link/testing/meeting.ts';
import { relaySuite } from '@portcullis/link/testing/relay-suite.ts';
import { transportSuite } from '@portcullis/link/testing/transport-suite.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { skipUnless } from '../requirements.ts';
import { NatsServer } from '../stack/nats-server.ts';

const UUID = '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11';

describe('NATS', { skip: skipUnless(['nats-server']) }, () => {
  transportSuite('NATS', async () => {
    const server = await new NatsServer().start();
    return {
      serve: async (handler, admit) => {
        const connection = await openConnection(server.control, { name: 'control' });
        return new NatsControl(connection, { handler, ...(admit && { admit }) });
      },
      connect: (agent, credential) =>
        new NatsAgent({ agent, ...(credential && { credential }) }, server.agent(agent)),
      end: () => server.stop(),
    };
  });

  relaySuite('NATS', async (t) => {
    return replicas(t);
  });

  it('reports what a replica counted to the other replicas, and not to itself', async (t) => {
    const heard: string[] = [];
    const [first, second] = await replicas(t);
    for (const [name, replica] of [
      ['first', first],
      ['second', second],
    ] as const) {
      replica.onUsage((usage) => heard.push(`${name} ${JSON.stringify(usage)}`));
    }
    first.publishUsage({ '1': { requests: 2, limit: 10 } });
    second.publishUsage({ '1': { requests: 3, limit: 10 } });
    for (let tries = 0; heard.length < 2 && tries < 2_000; tries += 1) await delay(5);
    assert.deepEqual(heard.toSorted(), [
      'first {"1":{"requests":3,"limit":10}}',
      'second {"1":{"requests":2,"limit":10}}',
    ]);
  });

  it('joins another replica when its own is killed', async (t) => {
    const { server, serve } = await cluster(t);
    const first = await serve('first');
    const agent = new NatsAgent({ agent: EDGE }, server.agent(EDGE));
    t.after(() => agent.close());
    await nextConnect(agent);
    assert.deepEqual(await agent.request(confirm(1), TIMEOUT_MS), stale('first'));
    await serve('second');
    const back = nextConnect(agent, 2);
    await first.connection.close();
    let isBack = false;
    void back.then(() => (isBack = true));
    // One that the server has passed on to the end of the first is lost; a later one finds nobody.
    for (let tries = 0; !isBack && tries < 250; tries += 1) {
      await agent.request(confirm(2), 200).catch((error: unknown) => {
        assert.ok(error instanceof LinkError, String(error));
      });
      await delay(20);
    }
    await back;
    assert.deepEqual(await agent.request(confirm(3), TIMEOUT_MS), stale('second'));
  });

  it('is called by a replica other than its own', async (t) => {
    const { server, serve } = await cluster(t);
    await serve('first');
    const agent = new NatsAgent({ agent: EDGE }, server.agent(EDGE));
    t.after(() => agent.close());
    agent.onCall(async () => ({ kind: 'accepted' }));
    await nextConnect(agent);
    const { control } = await serve('second');
    const call = { kind: 'node.call', withinMs: 1, uuid: UUID, call: { kind: 'look' } } as const;
    assert.deepEqual(await control.call(EDGE, call, TIMEOUT_MS), { kind: 'accepted' });
  });

  it('joins again after the server was killed and started again', async (t) => {
    const { server, serve } = await cluster(t);
    await serve('control');
    const agent = new NatsAgent({ agent: EDGE }, server.agent(EDGE));
    t.after(() => agent.close());
    await nextConnect(agent);
    const back = nextConnect(agent, 2);
    await server.kill();
    await assert.rejects(agent.request(confirm(1), TIMEOUT_MS), linkError('disconnected'));
    await server.start();
    await back;
    assert.deepEqual(await agent.request(confirm(2), TIMEOUT_MS), stale('control'));
  });

  it('reaches control through a cluster, and another server of it when its own is killed', async (t) => {
    const first = await new NatsServer({ cluster: 'first' }).start();
    const others = [new NatsServer({ cluster: first }), new NatsServer({ cluster: first })];
    for (const server of [first, ...others]) t.after(() => server.stop());
    for (const server of others) await server.start();
    const [, third] = others as [NatsServer, NatsServer];
    const connection = await openConnection(third.control, { name: 'control' });
    const control = new NatsControl(connection, { handler: async () => stale('control') });
    t.after(() => control.close());
    const agent = new NatsAgent({ agent: EDGE }, first.agent(EDGE));
    t.after(() => agent.close());
    await nextConnect(agent);
    assert.deepEqual(await agent.request(confirm(1), TIMEOUT_MS), stale('control'));
    const back = nextConnect(agent, 2);
    await first.kill();
    await back;
    assert.deepEqual(await agent.request(confirm(2), TIMEOUT_MS), stale('control'));
  });

  it('lets an agent neither publish nor subscribe on the subjects of another one', async (t) => {
    const { server } = await cluster(t);
    const other = subjectsOf({ kind: 'edge', name: 'ams1' });
    const connection = await openConnection(server.agent(EDGE), { name: 'edge:fra1' });
    t.after(() => connection.close());
    const violations: string[] = [];
    void (async () => {
      for await (const status of connection.status()) {
        if (status.type === 'error') violations.push(status.error.message);
      }
    })();
    const subjects = [
      other.call,
      other.notice,
      `${other.inboxPrefix}.>`,
      '_INBOX.>',
      '$SYS.>',
      '>',
    ];
    for (const subject of subjects) connection.subscribe(subject, { callback: () => {} });
    for (const subject of [other.greet, other.request('x'), subjectsOf(EDGE).call]) {
      connection.publish(subject);
    }
    const expected = subjects.length + 3;
    for (let tries = 0; violations.length < expected && tries < 2_000; tries += 1) {
      await delay(5);
    }
    assert.equal(violations.length, expected, violations.join('\n'));
  });

  it('refuses a server that admits everybody', async (t) => {
    const server = await new NatsServer({ config: 'listen: "127.0.0.1:-1"\n' }).start();
    t.after(() => server.stop());
    await assert.rejects(requireAuthentication(server.control), /admits everybody/);
  });

  it('refuses a server that does not encrypt where its URL says so', async (t) => {
    const server = await new NatsServer().start();
    t.after(() => server.stop());
    const { servers, ...access } = server.control;
    const encrypted = { ...access, servers: servers.map((url) => url.replace('nats:', 'tls:')) };
    await assert.rejects(openConnection(encrypted, { name: 'control' }), /does not support 'tls'/);
  });
});

/** A server, and replicas of control that answer with their name. */
async function cluster(t: TestContext) {
  const server = await new NatsServer().start();
  t.after(() => server.stop());
  return {
    server,
    async serve(name: string) {
      const connection = await openConnection(server.control, { name });
      t.after(() => connection.close());
      const control = new NatsControl(connection, { handler: async () => stale(name) });
      // The server knows its subscriptions.
      await connection.flush();
      return { connection, control };
    },
  };
}

async function replicas(t: TestContext): Promise<[NatsReplicas, NatsReplicas]> {
  const server = await new NatsServer().start();
  t.after(() => server.stop());
  const open = async (name: string): Promise<NatsReplicas> => {
    const connection = await openConnection(server.replicas, { name });
    const replica = new NatsReplicas(connection);
    t.after(() => replica.close());
    await connection.flush();
    return replica;
  };
  return [await open('first'), await open('second')];
}

function stale(detail: string): ControlReply {
  return { kind: 'refused', code: 'stale', detail };
}
