import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import { NatsAgent } from '@portcullis/link/nats/agent.ts';
import { type NatsConnection, openConnection } from '@portcullis/link/nats/connection.ts';
import { NatsControl } from '@portcullis/link/nats/control.ts';
import { NatsReplicas } from '@portcullis/link/nats/replicas.ts';
import { CONTROL_SAMPLES, CONTROL_USAGE, subjectsOf } from '@portcullis/link/nats/subjects.ts';
import {
  confirm,
  DONE,
  EDGE,
  eventually,
  NODE,
  nextConnect,
  TIMEOUT_MS,
} from '@portcullis/link/testing/meeting.ts';
import { skipUnless } from '../../requirements.ts';
import { NatsServer } from '../../stack/nats-server.ts';

const EVIL: AgentRef = { kind: 'edge', name: 'evil' };
const COLLECTOR: AgentRef = { kind: 'collector', name: 'evil' };
const OTHERS: readonly AgentRef[] = [EDGE, NODE, { kind: 'collector', name: 'flows' }];

describe('the wire, to a stolen credential', { skip: skipUnless(['nats-server']) }, () => {
  for (const evil of [EVIL, COLLECTOR, { kind: 'node', name: 'evil' } as const]) {
    it(`carries no answer of control anywhere but into the inbox of the ${evil.kind} that asked`, async (t) => {
      const { server, control } = await start(t);
      const honest = await join(t, server);
      const forbidden = [
        ...['usage', 'samples', 'closed', 'anything'].map((name) => `portcullis.control.${name}`),
        ...OTHERS.flatMap(foreignSubjects),
        '_INBOX.anything',
        '$SYS.REQ.CLAIMS.UPDATE',
        subjectsOf(evil).inboxPrefix,
        `${subjectsOf(evil).inboxPrefix}2.one`,
      ];
      const landed = await witness(t, server, new Set(forbidden));
      const { connection, replica } = await intrude(t, server, evil);
      const own = subjectsOf(evil);
      const body = JSON.stringify({ connection: 'evil', request: { kind: 'agent.renew' } });
      let answered = 0;
      for (const reply of forbidden) {
        for (const subject of [own.greet, own.request(replica)]) {
          for (const sent of [body, '', '{}', '{"connection":"evil","request":7}']) {
            connection.publish(subject, sent, { reply });
          }
        }
        assert.deepEqual(await honest.agent.request(confirm(1), TIMEOUT_MS), DONE);
        answered += 1;
      }
      assert.ok(answered >= 15);
      // What evil sent before this request was taken before it.
      await connection.request(own.greet, JSON.stringify({ connection: 'last' }), {
        timeout: TIMEOUT_MS,
      });
      await control.connection.flush();
      await landed.flush();
      assert.deepEqual(landed.subjects, []);
      assert.equal(honest.connects, 1);
    });
  }

  it('gives an agent neither a way to publish for the replicas nor one to listen to them', async (t) => {
    const { server } = await start(t);
    const heard: unknown[] = [];
    const between = await openConnection(server.replicas, { name: 'replicas' });
    const replicas = new NatsReplicas(between);
    t.after(() => replicas.close());
    replicas.onUsage((usage) => heard.push(usage));
    replicas.serve((...samples) => heard.push(samples));
    await between.flush();
    const { connection } = await intrude(t, server, EVIL);
    // Control itself, in the account of the fleet, does not reach them either.
    const inFleet = await openConnection(server.control, { name: 'control' });
    t.after(() => inFleet.close());
    for (const one of [connection, inFleet]) {
      one.publish(CONTROL_USAGE, JSON.stringify({ replica: 'x', usage: {} }));
      one.publish(CONTROL_SAMPLES, '{}');
      await one.flush();
    }
    await between.flush();
    assert.deepEqual(heard, []);
  });

  it('keeps replicas reading, whatever one of them or their listener does', async (t) => {
    const { server } = await start(t);
    const errors: unknown[] = [];
    const between = await openConnection(server.replicas, { name: 'replicas' });
    const replicas = new NatsReplicas(between, (error) => errors.push(error));
    t.after(() => replicas.close());
    const heard: unknown[] = [];
    replicas.onUsage((usage) => {
      heard.push(usage);
      if (Object.hasOwn(usage, 'bad')) throw new Error('of the listener');
    });
    const other = await openConnection(server.replicas, { name: 'other' });
    t.after(() => other.close());
    await between.flush();
    const usage = (key: string) => ({ [key]: { requests: 1, limit: 2 } });
    const bodies = [
      '',
      'null',
      '[]',
      '{}',
      '{"replica":"x"}',
      '{"replica":"x","usage":null}',
      '{"replica":"x","usage":{"1":{"requests":"many","limit":1}}}',
      '{"replica":7,"usage":{}}',
      JSON.stringify({ replica: 'x', usage: usage('bad') }),
    ];
    for (const body of bodies) {
      other.publish(CONTROL_USAGE, body);
      other.publish(CONTROL_SAMPLES, body);
    }
    other.publish(CONTROL_USAGE, JSON.stringify({ replica: 'x', usage: usage('good') }));
    await eventually(async () => assert.deepEqual(heard, [usage('bad'), usage('good')]));
    assert.equal(errors.length, 1);
  });

  it('refuses 300,000 subscriptions, also with a credential that was made without limits', async (t) => {
    const { server, control } = await start(t);
    const honest = await join(t, server);
    const { inboxPrefix } = subjectsOf(EVIL);
    for (const [access, tried, limit] of [
      [server.agent(EVIL), 1_000, 16],
      [server.agentBefore(EVIL), 300_000, 64],
    ] as const) {
      const connection = await openConnection(access, { name: 'evil' });
      const before = server.residentBytes;
      let received = 0;
      const callback = (error: Error | null): void => {
        if (error === null) received += 1;
      };
      for (let count = 0; count < tried; count += 1) {
        connection.subscribe(`${inboxPrefix}.${count}`, { callback });
        if (count % 10_000 === 0) await connection.flush();
      }
      await connection.flush();
      for (let count = 0; count < 1_000; count += 1) {
        control.connection.publish(`${inboxPrefix}.${count}`);
      }
      await control.connection.flush();
      await eventually(async () => assert.ok(received > limit / 2));
      await connection.flush();
      assert.ok(received <= limit, `${received} messages`);
      // Without a limit it was 560 MB.
      assert.ok(server.residentBytes - before < 150_000_000, `${server.residentBytes}`);
      await connection.close();
    }
    assert.deepEqual(await honest.agent.request(confirm(1), TIMEOUT_MS), DONE);
    assert.equal(honest.connects, 1);
  });

  it('drops a greeting of more than 4 KiB and keeps serving', async (t) => {
    const { server, greeted } = await start(t);
    const { connection } = await intrude(t, server, EVIL);
    const before = greeted.length;
    const { greet } = subjectsOf(EVIL);
    for (let count = 0; count < 20; count += 1) {
      connection.publish(
        greet,
        JSON.stringify({ connection: 'x', padding: 'x'.repeat(1_000_000) }),
        { reply: `${subjectsOf(EVIL).inboxPrefix}.x` },
      );
    }
    await connection.flush();
    await join(t, server);
    assert.equal(greeted.length, before + 1);
  });
});

async function start(t: TestContext) {
  const server = await new NatsServer().start();
  t.after(() => server.stop());
  const connection = await openConnection(server.control, { name: 'control' });
  t.after(() => connection.close());
  const greeted: AgentRef[] = [];
  const control = new NatsControl(connection, {
    handler: async () => DONE,
    admit: async (agent) => {
      greeted.push(agent);
      return { ok: true };
    },
  });
  t.after(() => control.close());
  await connection.flush();
  return { server, control: { control, connection }, greeted };
}

async function join(t: TestContext, server: NatsServer) {
  const agent = new NatsAgent({ agent: EDGE }, server.agent(EDGE));
  t.after(() => agent.close());
  const state = { agent, connects: 0 };
  agent.onConnect(() => {
    state.connects += 1;
  });
  await nextConnect(agent);
  return state;
}

/** A program of the attacker's, with the credential of an agent. */
async function intrude(
  t: TestContext,
  server: NatsServer,
  agent: AgentRef,
): Promise<{ readonly connection: NatsConnection; readonly replica: string }> {
  const { greet, inboxPrefix } = subjectsOf(agent);
  const connection = await openConnection(server.agent(agent), { name: 'evil', inboxPrefix });
  t.after(() => connection.close());
  const greeting = JSON.stringify({ connection: 'evil' });
  for (;;) {
    try {
      const reply = await connection.request(greet, greeting, { timeout: TIMEOUT_MS });
      return { connection, replica: reply.json<{ readonly replica: string }>().replica };
    } catch {
      await delay(10);
    }
  }
}

function foreignSubjects(agent: AgentRef): string[] {
  const { greet, call, session, notice, request, inboxPrefix } = subjectsOf(agent);
  return [greet, call, session, notice, request('x'), `${inboxPrefix}.x`];
}

/** Hears the whole account of the fleet. */
async function witness(t: TestContext, server: NatsServer, watched: ReadonlySet<string>) {
  const connection = await openConnection(server.control, { name: 'witness' });
  t.after(() => connection.close());
  const subjects: string[] = [];
  connection.subscribe('>', {
    callback: (_, { subject }) => {
      if (watched.has(subject)) subjects.push(subject);
    },
  });
  await connection.flush();
  return { subjects, flush: () => connection.flush() };
}
