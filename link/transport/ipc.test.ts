import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { spawn, spawnSync } from 'node:child_process';
import { encodeFrame } from './frame.ts';
import { connectIpc } from './ipc.ts';
import { serveIpc } from './ipc.ts';
import type { ControlReply } from '../messages/messages.ts';
import { readableProgram } from '../program/readable-program.ts';
import { nodeHello } from '../testing/meeting.ts';
import { transportSuite } from '../testing/transport-suite.ts';

const DONE: ControlReply = { kind: 'done' };
const HELLO = nodeHello();
/** Opens 400 connections and says nothing on them; prints how many of them were closed. */
const STRANGER = `
  const { connect } = require('node:net');
  let closed = 0;
  for (let count = 0; count < 400; count += 1) {
    connect(process.argv[1]).on('error', () => {}).on('close', () => {
      closed += 1;
      if (closed === 384) console.log('384 closed');
    }).resume();
  }`;
const EDGE = { kind: 'edge', name: 'fra1' } as const;

transportSuite('ipc', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-ipc-'));
  const path = join(folder, 'link.sock');
  return {
    serve: (handler, admit) => serveIpc({ path, handler, ...(admit && { admit }) }),
    connect: (agent, credential) => connectIpc({ path, agent, ...(credential && { credential }) }),
    end: () => rm(folder, { recursive: true }),
  };
});

describe('serveIpc', () => {
  it('replaces the socket file of a killed control plane', async (t) => {
    const path = socketPath(t);
    const script = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
    spawnSync(process.execPath, ['-e', script]);
    assert.ok(statSync(path).isSocket());
    const control = await serveIpc({ path, handler: async () => DONE });
    t.after(() => control.close());
    const agent = connectIpc({ path, agent: EDGE });
    t.after(() => agent.close());
    await new Promise<void>((resolve) => agent.onConnect(resolve));
  });

  it('rejects a path on which another control plane serves', async (t) => {
    const path = socketPath(t);
    const control = await serveIpc({ path, handler: async () => DONE });
    t.after(() => control.close());
    await assert.rejects(serveIpc({ path, handler: async () => DONE }), /another control plane/);
  });

  it('never removes a file that is not a socket', async (t) => {
    const path = socketPath(t);
    writeFileSync(path, 'content');
    await assert.rejects(serveIpc({ path, handler: async () => DONE }));
    assert.equal(statSync(path).size, 'content'.length);
  });

  it('reports that a path is too long for a socket', async () => {
    const path = join('/tmp', 'x'.repeat(120), 'link.sock');
    await assert.rejects(serveIpc({ path, handler: async () => DONE }), /107 bytes/);
  });

  it('gives access to the owner and the group of the folder only', async (t) => {
    const path = socketPath(t);
    chmodSync(join(path, '..'), 0o2770);
    const control = await serveIpc({ path, handler: async () => DONE });
    t.after(() => control.close());
    assert.equal(statSync(path).mode & 0o777, 0o660);
    assert.equal(statSync(path).gid, statSync(join(path, '..')).gid);
  });

  it('serves more than 256 agents', async (t) => {
    const path = socketPath(t);
    const control = await serveIpc({ path, handler: async () => DONE });
    t.after(() => control.close());
    const agents = Array.from({ length: 300 }, (_, index) =>
      connectIpc({ path, agent: { kind: 'node', name: `node-${index}` } }),
    );
    t.after(() => Promise.all(agents.map((agent) => agent.close())));
    await Promise.all(agents.map((agent) => new Promise<void>((ready) => agent.onConnect(ready))));
    const answers = await Promise.all(agents.map((agent) => agent.request(HELLO, 60_000)));
    assert.ok(answers.every(({ kind }) => kind === 'done'));
  });

  it('closes the oldest of five connections of one agent', async (t) => {
    const path = socketPath(t);
    const control = await serveIpc({ path, handler: async () => DONE });
    t.after(() => control.close());
    const peers = [];
    for (let count = 0; count < 5; count += 1) {
      const peer = connect(path);
      t.after(() => peer.destroy());
      peers.push(peer);
      peer.write(encodeFrame({ agent: EDGE }));
      await once(peer, 'data');
    }
    const [oldest] = peers;
    assert.ok(oldest !== undefined);
    oldest.resume();
    await once(oldest, 'close');
  });

  it('admits an agent while another account holds all connections it can', {
    skip: process.getuid?.() === 0 ? false : 'needs root: connects as another account',
  }, async (t) => {
    const path = socketPath(t);
    chmodSync(join(path, '..'), 0o755);
    const control = await serveIpc({ path, mode: 0o666, handler: async () => DONE });
    t.after(() => control.close());
    const stranger = spawn(readableProgram().node, ['-e', STRANGER, path], {
      uid: 65_532,
      gid: 65_532,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.after(() => stranger.kill('SIGKILL'));
    const [line] = (await once(stranger.stdout, 'data')) as [Buffer];
    // 16 of its 400 connections are left.
    assert.equal(String(line).trim(), '384 closed');
    const agent = connectIpc({ path, agent: EDGE });
    t.after(() => agent.close());
    await new Promise<void>((resolve) => agent.onConnect(resolve));
  });

  const hello = encodeFrame({ agent: EDGE });
  const invalid: Readonly<Record<string, Buffer>> = {
    'text instead of a frame': Buffer.from('GET / HTTP/1.1\r\n\r\n'),
    'a frame that claims 4 GiB': Buffer.from([0xff, 0xff, 0xff, 0xff]),
    'a frame that is not JSON': Buffer.concat([Buffer.from([0, 0, 0, 2]), Buffer.from('{]')]),
    'a request before a greeting': encodeFrame({ id: 1, request: { kind: 'edge.hello' } }),
    'a greeting with an invalid name': encodeFrame({ agent: { kind: 'edge', name: '../../etc' } }),
    'a request without an id': Buffer.concat([
      hello,
      encodeFrame({ request: { kind: 'edge.confirm' } }),
    ]),
    'a credential that is not text': encodeFrame({ agent: EDGE, credential: { length: 3 } }),
    'an oversize credential': encodeFrame({ agent: EDGE, credential: 'x'.repeat(100_000) }),
    'a second greeting': Buffer.concat([hello, hello]),
    'a message that is not an object': Buffer.concat([hello, encodeFrame([1])]),
  };
  for (const [what, bytes] of Object.entries(invalid)) {
    it(`disconnects a peer that sends ${what}`, async (t) => {
      const path = socketPath(t);
      const control = await serveIpc({ path, handler: async () => DONE });
      t.after(() => control.close());
      const peer = connect(path);
      peer.resume();
      peer.on('error', () => {});
      const closed = new Promise((resolve) => peer.on('close', resolve));
      peer.write(bytes);
      await closed;
    });
  }

  it('stops reading from a peer that never reads its replies', async (t) => {
    const path = socketPath(t);
    let handled = 0;
    const detail = 'x'.repeat(1024 * 1024);
    const control = await serveIpc({
      path,
      handler: async () => {
        handled += 1;
        return { kind: 'refused', code: 'stale', detail };
      },
    });
    t.after(() => control.close());
    const peer = connect(path);
    t.after(() => peer.destroy());
    peer.pause();
    peer.write(hello);
    const request = { kind: 'edge.confirm', instance: 'a', generation: 1, refused: [] };
    for (let id = 0; id < 2_000; id += 1) peer.write(encodeFrame({ id, request }));
    let before = -1;
    while (handled === 0 || before !== handled) {
      before = handled;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.ok(handled > 0 && handled < 400, `${handled} requests were handled`);
  });
});

describe('connectIpc', () => {
  it('disconnects a control plane that sends an invalid frame, and reconnects', async (t) => {
    const path = socketPath(t);
    let connections = 0;
    const twice = Promise.withResolvers<void>();
    const server = createServer((socket) => {
      connections += 1;
      if (connections === 2) twice.resolve();
      socket.on('error', () => {});
      socket.resume();
      socket.end('text instead of a frame');
    });
    server.listen(path);
    t.after(() => server.close());
    const agent = connectIpc({ path, agent: EDGE });
    t.after(() => agent.close());
    await twice.promise;
  });

  it('returns an invalid reply as unsupported, with the reason', async (t) => {
    const path = socketPath(t);
    const page = {
      kind: 'edge.page',
      generation: 1,
      whole: true,
      policies: [{ target: '; flush ruleset' }],
    };
    const control = await serveIpc({ path, handler: async () => page as unknown as ControlReply });
    t.after(() => control.close());
    const agent = connectIpc({ path, agent: EDGE });
    t.after(() => agent.close());
    await new Promise<void>((resolve) => agent.onConnect(resolve));
    const request = { kind: 'edge.confirm', instance: 'a', generation: 1, refused: [] } as const;
    const reply = await agent.request(request, 5_000);
    assert.equal(reply.kind, 'refused');
    assert.match(reply.kind === 'refused' ? reply.detail : '', /policies\/0\/target/);
  });
});

function socketPath(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-ipc-'));
  t.after(() => rm(folder, { recursive: true }));
  return join(folder, 'link.sock');
}
