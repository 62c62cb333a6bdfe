import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { AgentRef, AgentRequest, ControlReply, Notice } from '../messages/messages.ts';
import type { EdgeConfirm } from '../messages/edge.ts';
import { admissionTests, kindTests } from './admission-suite.ts';
import { callTests } from './call-suite.ts';
import {
  confirm,
  connected,
  DONE,
  EDGE,
  eventually,
  linkError,
  type Meet,
  type Meeting,
  nextConnect,
  serve,
  TIMEOUT_MS,
} from './meeting.ts';
import { type AgentSide, MAX_MESSAGE_BYTES } from '../transport/transport.ts';

/** Tests the guarantees of a transport (transport.ts). */
export function transportSuite(name: string, open: () => Promise<Meeting>): void {
  const meet = async (t: TestContext): Promise<Meeting> => {
    const meeting = await open();
    t.after(() => meeting.end());
    return meeting;
  };
  describe(`the ${name} transport`, () => {
    requestTests(meet);
    limitTests(meet);
    restartTests(meet);
    noticeTests(meet);
    callTests(meet);
    kindTests(meet);
    admissionTests(meet);
  });
}

function requestTests(meet: Meet): void {
  it('passes a request to the handler with its agent, and returns the reply', async (t) => {
    const meeting = await meet(t);
    const seen: { from: AgentRef; request: AgentRequest }[] = [];
    await serve(t, meeting, async (from, request) => {
      seen.push({ from, request });
      return DONE;
    });
    const agent = await connected(t, meeting);
    assert.deepEqual(await agent.request(confirm(7), TIMEOUT_MS), DONE);
    assert.deepEqual(seen, [{ from: EDGE, request: confirm(7) }]);
  });

  it('handles the requests of one agent in the order sent, though replies come in another order', async (t) => {
    const meeting = await meet(t);
    const order: number[] = [];
    const first = Promise.withResolvers<void>();
    await serve(t, meeting, async (_from, request) => {
      const { generation } = request as EdgeConfirm;
      order.push(generation);
      if (generation === 1) await first.promise;
      else if (generation === 50) first.resolve();
      return refusal(String(generation));
    });
    const agent = await connected(t, meeting);
    const sent = Array.from({ length: 50 }, (_, index) => index + 1);
    const replies = await Promise.all(sent.map((n) => agent.request(confirm(n), TIMEOUT_MS)));
    assert.deepEqual(order, sent);
    assert.deepEqual(
      replies,
      sent.map((n) => refusal(String(n))),
    );
  });

  it('answers 1,000 parallel requests, each with its own reply', async (t) => {
    const meeting = await meet(t);
    await serve(t, meeting, async (_from, request) => {
      await new Promise((resolve) => setImmediate(resolve));
      return refusal(String((request as EdgeConfirm).generation));
    });
    const agent = await connected(t, meeting);
    const numbers = Array.from({ length: 1_000 }, (_, index) => index);
    const replies = await Promise.all(numbers.map((n) => agent.request(confirm(n), TIMEOUT_MS)));
    assert.deepEqual(
      replies,
      numbers.map((n) => refusal(String(n))),
    );
  });

  it('answers unavailable when the handler throws, and continues', async (t) => {
    const meeting = await meet(t);
    await serve(t, meeting, async (_from, request) => {
      if ((request as EdgeConfirm).generation === 1) throw new Error('a secret of control');
      return DONE;
    });
    const agent = await connected(t, meeting);
    const reply = await agent.request(confirm(1), TIMEOUT_MS);
    assert.equal(reply.kind === 'refused' && reply.code, 'unavailable');
    assert.doesNotMatch(JSON.stringify(reply), /secret/);
    assert.deepEqual(await agent.request(confirm(2), TIMEOUT_MS), DONE);
  });
}

function limitTests(meet: Meet): void {
  it('fails a request that is not answered within its timeout', async (t) => {
    const meeting = await meet(t);
    const never = Promise.withResolvers<ControlReply>();
    t.after(() => never.resolve(DONE));
    await serve(t, meeting, () => never.promise);
    const agent = await connected(t, meeting);
    await assert.rejects(agent.request(confirm(1), 20), linkError('timeout'));
  });

  it('refuses a message above the limit on the side of the sender, and continues', async (t) => {
    const meeting = await meet(t);
    await serve(t, meeting, async (_from, request) =>
      request.kind === 'edge.sync' ? refusal('x'.repeat(MAX_MESSAGE_BYTES)) : DONE,
    );
    const agent = await connected(t, meeting);
    const oversize = { ...confirm(1), instance: 'x'.repeat(MAX_MESSAGE_BYTES) };
    await assert.rejects(agent.request(oversize, TIMEOUT_MS), linkError('too_large'));
    const sync = {
      kind: 'edge.sync',
      instance: 'a',
      after: 0,
      cursor: null,
      sourceSetsVersion: null,
    } as const;
    const reply = await agent.request(sync, TIMEOUT_MS);
    assert.equal(reply.kind === 'refused' && reply.code, 'unavailable');
    assert.deepEqual(await agent.request(confirm(1), TIMEOUT_MS), DONE);
  });

  it('disconnects an agent that sends an invalid message, and no other agent', async (t) => {
    const meeting = await meet(t);
    await serve(t, meeting, async () => DONE);
    const good = await connected(t, meeting);
    const bad = await connected(t, meeting, { kind: 'edge', name: 'bad' });
    const invalid = { ...confirm(1), generation: 'high' } as unknown as AgentRequest;
    await assert.rejects(bad.request(invalid, TIMEOUT_MS), linkError('disconnected'));
    assert.deepEqual(await good.request(confirm(1), TIMEOUT_MS), DONE);
  });

  it('refuses requests after close', async (t) => {
    const meeting = await meet(t);
    await serve(t, meeting, async () => DONE);
    const agent = await connected(t, meeting);
    await agent.close();
    await assert.rejects(agent.request(confirm(1), TIMEOUT_MS), linkError('closed'));
  });
}

function restartTests(meet: Meet): void {
  it('fails requests while control is away, and reports when it is back', async (t) => {
    const meeting = await meet(t);
    const first = await meeting.serve(async () => refusal('first'));
    const agent = await connected(t, meeting);
    let back = nextConnect(agent, 2);
    await first.close();
    await eventually(() =>
      assert.rejects(agent.request(confirm(1), TIMEOUT_MS), linkError('disconnected')),
    );
    for (let round = 0; round < 3; round += 1) {
      const control = await meeting.serve(async () => refusal(`round ${round}`));
      await back;
      assert.deepEqual(await agent.request(confirm(1), TIMEOUT_MS), refusal(`round ${round}`));
      back = nextConnect(agent, 2);
      await control.close();
    }
  });

  it('connects an agent that started before control', async (t) => {
    const meeting = await meet(t);
    const agent = meeting.connect(EDGE);
    t.after(() => agent.close());
    const there = nextConnect(agent);
    await serve(t, meeting, async () => DONE);
    await there;
    assert.deepEqual(await agent.request(confirm(1), TIMEOUT_MS), DONE);
  });

  it('lets running handlers answer before control closes', async (t) => {
    const meeting = await meet(t);
    const entered = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<ControlReply>();
    const control = await meeting.serve(() => {
      entered.resolve();
      return finish.promise;
    });
    const agent = await connected(t, meeting);
    const reply = agent.request(confirm(1), TIMEOUT_MS);
    await entered.promise;
    const closed = control.close();
    finish.resolve(DONE);
    assert.deepEqual(await reply, DONE);
    await closed;
  });
}

function noticeTests(meet: Meet): void {
  it('delivers notices of a restarted control, and none of the previous one', async (t) => {
    const meeting = await meet(t);
    const first = await meeting.serve(async () => DONE);
    const agent = await connected(t, meeting);
    const back = nextConnect(agent, 2);
    await first.close();
    const second = await serve(t, meeting, async () => DONE);
    await back;
    const received = nextNotice(agent);
    assert.deepEqual([...second.admitted('edge')], [EDGE.name]);
    assert.deepEqual([...second.admitted('node')], []);
    first.notify({ kind: 'watch', version: 'first' });
    second.notify({ kind: 'watch', version: 'second' });
    assert.deepEqual(await received, { kind: 'watch', version: 'second' });
  });
}

function nextNotice(agent: AgentSide): Promise<Notice> {
  return new Promise((resolve) => agent.onNotice(resolve));
}

function refusal(detail: string): ControlReply {
  return { kind: 'refused', code: 'stale', detail };
}
