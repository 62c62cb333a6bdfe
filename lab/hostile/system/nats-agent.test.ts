import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import type { AgentRef, AgentRequest } from '@portcullis/link/messages/messages.ts';
import { NatsAgent } from '@portcullis/link/nats/agent.ts';
import { type NatsConnection, openConnection } from '@portcullis/link/nats/connection.ts';
import { NatsControl } from '@portcullis/link/nats/control.ts';
import { subjectsOf } from '@portcullis/link/nats/subjects.ts';
import { confirm, DONE, EDGE, nextConnect, TIMEOUT_MS } from '@portcullis/link/testing/meeting.ts';
import { skipUnless } from '../../requirements.ts';
import { NatsServer } from '../../stack/nats-server.ts';
import { eventually } from '../../system/stack-fixture.ts';

/** A host whose credential was stolen. */
const EVIL: AgentRef = { kind: 'edge', name: 'evil' };
const BIG_BYTES = 15 * 1024 * 1024;
const BIG_MESSAGES = 12;
/** Small messages, and how many of one agent control takes in a second. */
const FLOOD = 60_000;
const TAKEN = 4_000;
/** For what a busy machine takes to read one of them. */
const PATIENCE_MS = 30_000;
/** Until what was not read is sent again. */
const ASKED_MS = 5_000;

describe('a stolen credential of an agent, at NATS', { skip: skipUnless(['nats-server']) }, () => {
  it('publishes on no subject of control', async (t) => {
    const { server } = await start(t);
    const heard: string[] = [];
    const replica = await openConnection(server.control, { name: 'replica' });
    t.after(() => replica.close());
    replica.subscribe('portcullis.control.>', {
      callback: (_error, { subject }) => {
        heard.push(subject);
      },
    });
    await replica.flush();
    const evil = await connectAs(t, server, EVIL);
    const violations: string[] = [];
    void (async () => {
      for await (const status of evil.status())
        if (status.type === 'error') violations.push(status.error.message);
    })();
    const subjects = ['usage', 'samples', 'closed'].map((name) => `portcullis.control.${name}`);
    const body = encode({
      replica: 'other',
      usage: { 1: { requests: 1e9, limit: 1 } },
      from: EDGE,
    });
    for (const subject of subjects) evil.publish(subject, body);
    await eventually('each is refused', async () => violations.length >= subjects.length);
    for (const subject of subjects)
      assert.ok(
        violations.some((one) => one.includes(subject)),
        `${subject}: ${violations.join('\n')}`,
      );
    assert.deepEqual(heard, []);
  });

  it('is the agent of its own subjects, whatever its messages say', async (t) => {
    const { server, seen } = await start(t);
    const honest = await connectAs(t, server, EDGE);
    const evil = await connectAs(t, server, EVIL);
    const [honestId, evilId] = [randomUUID(), randomUUID()];
    const replica = await greet(honest, EDGE, honestId);
    assert.equal(await greet(evil, EVIL, evilId), replica);
    const named = { from: EDGE, agent: EDGE, ...EDGE };
    const own = await ask(evil, EVIL, replica, { ...named, connection: evilId });
    assert.deepEqual(own['reply'], DONE);
    const foreign = await ask(evil, EVIL, replica, { ...named, connection: honestId });
    assert.equal(foreign['reply'], undefined, 'the session of another agent');
    // A greeting by the id of another agent's session takes nothing over, and need not be answered.
    evil.publish(subjectsOf(EVIL).greet, encode({ connection: honestId, credential: null }));
    await evil.flush();
    const still = await ask(honest, EDGE, replica, { connection: honestId });
    assert.deepEqual(still['reply'], DONE);
    assert.deepEqual(
      seen.map(({ name }) => name),
      ['evil', 'fra1'],
    );
  });

  it('cuts off no other agent by messages of 15 MB', async (t) => {
    const { server } = await start(t);
    const honest = new NatsAgent({ agent: EDGE }, server.agent(EDGE));
    t.after(() => honest.close());
    await nextConnect(honest);
    const evil = await connectAs(t, server, EVIL);
    const id = randomUUID();
    const replica = await greet(evil, EVIL, id);
    const request = { ...confirm(1), instance: 'x'.repeat(BIG_BYTES) };
    const big = encode({ connection: id, request });
    for (let count = 1; count <= BIG_MESSAGES; count += 1) {
      // Once the server limits what it may send, it is disconnected.
      if (!evil.isClosed()) {
        try {
          evil.publish(subjectsOf(EVIL).request(replica), big);
        } catch {
          // Larger than the server takes.
        }
      }
      assert.deepEqual(await honest.request(confirm(count), PATIENCE_MS), DONE);
    }
  });

  it('is not read any further by control when it sends without an end, and others are', async (t) => {
    const { server, seen } = await start(t);
    const honest = await connectAs(t, server, EDGE);
    const evil = await connectAs(t, server, EVIL);
    const [honestId, evilId] = [randomUUID(), randomUUID()];
    const replica = await greet(honest, EDGE, honestId);
    await greet(evil, EVIL, evilId);
    const request = encode({ connection: evilId, request: confirm(1) });
    const reply = `${subjectsOf(EVIL).inboxPrefix}.flood.1`;
    const beganMs = performance.now();
    for (let count = 1; count <= FLOOD; count += 1) {
      evil.publish(subjectsOf(EVIL).request(replica), request, { reply });
      if (count % 1_000 === 0) await evil.flush();
    }
    const answered = await ask(honest, EDGE, replica, { connection: honestId });
    assert.deepEqual(answered['reply'], DONE);
    const windows = Math.ceil((performance.now() - beganMs) / 1_000) + 1;
    const taken = seen.filter(({ name }) => name === 'evil').length;
    assert.ok(taken <= windows * TAKEN, `${taken} of ${FLOOD} in ${windows} s`);
    // It is an agent again when it has stopped.
    await eventually('it is answered', async () => {
      const sent = ask(evil, EVIL, replica, { connection: evilId }, ASKED_MS);
      const own = await sent.catch(() => null);
      return own?.['reply'] !== undefined;
    });
  });
});

/** A server and control, which answers everything; `seen`: who sent what was handled. */
async function start(t: TestContext) {
  const server = await new NatsServer().start();
  t.after(() => server.stop());
  const seen: AgentRef[] = [];
  const connection = await openConnection(server.control, { name: 'control' });
  const handler = async (from: AgentRef, _request: AgentRequest) => {
    seen.push(from);
    return DONE;
  };
  const control = new NatsControl(connection, { handler });
  t.after(() => control.close());
  await connection.flush();
  return { server, seen };
}

async function connectAs(
  t: TestContext,
  server: NatsServer,
  agent: AgentRef,
): Promise<NatsConnection> {
  const { inboxPrefix } = subjectsOf(agent);
  const connection = await openConnection(server.agent(agent), { name: agent.name, inboxPrefix });
  t.after(() => connection.close());
  return connection;
}

/** The replica that admitted it. */
async function greet(connection: NatsConnection, agent: AgentRef, id: string): Promise<string> {
  const body = encode({ connection: id, credential: null });
  const reply = await connection.request(subjectsOf(agent).greet, body, { timeout: TIMEOUT_MS });
  return String(reply.json<Record<string, unknown>>()['replica']);
}

async function ask(
  connection: NatsConnection,
  agent: AgentRef,
  replica: string,
  envelope: object,
  timeout = TIMEOUT_MS,
): Promise<Record<string, unknown>> {
  const body = encode({ ...envelope, request: confirm(1) });
  const subject = subjectsOf(agent).request(replica);
  const reply = await connection.request(subject, body, { timeout });
  return reply.json<Record<string, unknown>>();
}

function encode(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}
