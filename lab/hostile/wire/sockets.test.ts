import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { encodeFrame } from '@portcullis/link/transport/frame.ts';
import { connectIpc, serveIpc } from '@portcullis/link/transport/ipc.ts';
import {
  MAX_AGENT_BYTES,
  MAX_GREETING_BYTES,
  MAX_MESSAGE_BYTES,
} from '@portcullis/link/transport/transport.ts';
import type { ControlReply } from '@portcullis/link/messages/messages.ts';
import { nextConnect, nodeHello, TIMEOUT_MS } from '@portcullis/link/testing/meeting.ts';

const NODE = { kind: 'node', name: 'node-1' } as const;
const COLLECTOR = { kind: 'collector', name: 'flows' } as const;
const DONE: ControlReply = { kind: 'done' };
const SECRET = 'right';

test('a socket takes 4 KiB of a peer that it has not admitted, whatever the peer announces', async (t) => {
  const path = await serve(t);
  let tried = 0;
  for (const length of [MAX_GREETING_BYTES + 1, 65_536, MAX_MESSAGE_BYTES, 0xff_ff_ff_ff]) {
    for (let count = 0; count < 16; count += 1) {
      // Only the length is sent, so that nothing but it can end the connection.
      await closedAfter(path, header(length));
      tried += 1;
    }
  }
  assert.equal(tried, 64);
  const largest = { agent: NODE, credential: SECRET, padding: '' };
  const room = MAX_GREETING_BYTES - Buffer.byteLength(JSON.stringify(largest));
  const peer = connect(path);
  t.after(() => peer.destroy());
  peer.write(encodeFrame({ ...largest, padding: 'x'.repeat(room) }));
  const [reply] = (await once(peer, 'data')) as [Buffer];
  assert.match(reply.toString(), /"ready":true/);
});

test('a flood of greetings of 16 MiB leaves nothing in memory, and agents are admitted beside it', async (t) => {
  const path = await serve(t);
  const body = Buffer.alloc(MAX_MESSAGE_BYTES - 4);
  const before = process.memoryUsage().arrayBuffers;
  let rounds = 0;
  const flood = new AbortController();
  const flooding = Array.from({ length: 16 }, async () => {
    while (!flood.signal.aborted) {
      await closedAfter(path, header(body.length), body);
      rounds += 1;
    }
  });
  let most = 0;
  for (let count = 0; count < 10; count += 1) {
    const agent = connectIpc({ path, agent: NODE, credential: SECRET });
    await nextConnect(agent);
    assert.deepEqual(await agent.request(nodeHello(), TIMEOUT_MS), DONE);
    await agent.close();
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  }
  flood.abort();
  await Promise.all(flooding);
  assert.ok(rounds >= 16, `${rounds} rounds`);
  // 16 frames together would be 256 MiB.
  assert.ok(most < 64 * 1024 * 1024, `${most} bytes`);
});

test('strangers who greet with wrong credentials have two of them checked at a time, and an agent is admitted beside them', async (t) => {
  let [checking, most, checked] = [0, 0, 0];
  const path = await serve(t, async (credential) => {
    checking += 1;
    most = Math.max(most, checking);
    // As a query takes several turns of the event loop.
    for (let turns = 0; turns < 20; turns += 1) await new Promise(setImmediate);
    checking -= 1;
    checked += 1;
    return credential === SECRET;
  });
  const greeting = encodeFrame({ agent: NODE, credential: 'wrong' });
  const flood = new AbortController();
  const flooding = Array.from({ length: 100 }, async () => {
    while (!flood.signal.aborted) await closedAfter(path, greeting);
  });
  for (let count = 0; count < 5; count += 1) {
    const agent = connectIpc({ path, agent: NODE, credential: SECRET });
    await nextConnect(agent);
    assert.deepEqual(await agent.request(nodeHello(), TIMEOUT_MS), DONE);
    await agent.close();
  }
  flood.abort();
  await Promise.all(flooding);
  assert.ok(checked >= 100, `${checked} greetings`);
  assert.equal(most, 2);
});

test('a collector takes less than an edge or a node, once it is admitted', async (t) => {
  const path = await serve(t);
  for (const [agent, limit] of [
    [NODE, MAX_MESSAGE_BYTES],
    [COLLECTOR, MAX_AGENT_BYTES.collector],
  ] as const) {
    const peer = connect(path);
    peer.on('error', () => {});
    peer.write(encodeFrame({ agent, credential: SECRET }));
    await once(peer, 'data');
    const closed = closing(peer);
    peer.write(header(limit + 1));
    await closed;
  }
  assert.ok(MAX_AGENT_BYTES.collector < MAX_AGENT_BYTES.node);
});

async function serve(
  t: TestContext,
  isRight = async (credential: string | null): Promise<boolean> => credential === SECRET,
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-sockets-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'control.sock');
  // No greeting runs out of time: only the limit ends a connection here.
  const setLater = globalThis.setTimeout;
  const ignored = t.mock.method(globalThis, 'setTimeout', ((run: () => void, ms?: number) =>
    setLater(run, ms === 5_000 ? 3_600_000 : ms).unref()) as typeof setTimeout);
  t.after(() => ignored.mock.restore());
  const control = await serveIpc({
    path,
    handler: async () => DONE,
    admit: async (_, credential) =>
      (await isRight(credential)) ? { ok: true } : { ok: false, reason: 'wrong' },
  });
  t.after(() => control.close());
  return path;
}

function header(length: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(length);
  return bytes;
}

/** Sends and waits for control to close the connection. */
async function closedAfter(path: string, ...sent: readonly Buffer[]): Promise<void> {
  const peer = connect(path);
  const closed = closing(peer);
  peer.on('error', () => {});
  for (const bytes of sent) peer.write(bytes);
  await closed;
}

function closing(peer: Socket): Promise<void> {
  return new Promise((resolve) => {
    peer.once('close', () => resolve());
    peer.resume();
  });
}
