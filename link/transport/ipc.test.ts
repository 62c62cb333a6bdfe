import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { spawnSync } from 'node:child_process';
import { encodeFrame } from './frame.ts';
import { connectIpc } from './ipc.ts';
import { serveIpc } from './ipc.ts';
import type { ControlReply } from '../messages/messages.ts';
import { transportSuite } from '../testing/transport-suite.ts';

const DONE: ControlReply = { kind: 'done' };
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
  it('takes over a socket file that a killed control plane left', async (t) => {
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

  it('refuses a socket that another control plane serves', async (t) => {
    const path = socketPath(t);
    const control = await serveIpc({ path, handler: async () => DONE });
    t.after(() => control.close());
    await assert.rejects(serveIpc({ path, handler: async () => DONE }), /another control plane/);
  });

  it('never removes a file that is no socket', async (t) => {
    const path = socketPath(t);
    writeFileSync(path, 'precious');
    await assert.rejects(serveIpc({ path, handler: async () => DONE }));
    assert.equal(statSync(path).size, 'precious'.length);
  });

  it('says why a path is too long for a socket', async () => {
    const path = join('/tmp', 'x'.repeat(120), 'link.sock');
    await assert.rejects(serveIpc({ path, handler: async () => DONE }), /107 bytes/);
  });

  it('lets the owner and the group of the folder in, nobody else', async (t) => {
    const path = socketPath(t);
    chmodSync(join(path, '..'), 0o2770);
    const control = await serveIpc({ path, handler: async () => DONE });
    t.after(() => control.close());
    assert.equal(statSync(path).mode & 0o777, 0o660);
    assert.equal(statSync(path).gid, statSync(join(path, '..')).gid);
  });

  const hello = encodeFrame({ agent: EDGE });
  const rubbish: Readonly<Record<string, Buffer>> = {
    'text that is no frame': Buffer.from('GET / HTTP/1.1\r\n\r\n'),
    'a frame that claims 4 GiB': Buffer.from([0xff, 0xff, 0xff, 0xff]),
    'a frame that is not JSON': Buffer.concat([Buffer.from([0, 0, 0, 2]), Buffer.from('{]')]),
    'a request before a greeting': encodeFrame({ id: 1, request: { kind: 'edge.hello' } }),
    'a greeting of a strange agent': encodeFrame({ agent: { kind: 'edge', name: '../../etc' } }),
    'a request without an id': Buffer.concat([
      hello,
      encodeFrame({ request: { kind: 'edge.confirm' } }),
    ]),
    'a credential that is no text': encodeFrame({ agent: EDGE, credential: { length: 3 } }),
    'a credential without end': encodeFrame({ agent: EDGE, credential: 'x'.repeat(100_000) }),
    'a second greeting': Buffer.concat([hello, hello]),
    'a message that is no object': Buffer.concat([hello, encodeFrame([1])]),
  };
  for (const [what, bytes] of Object.entries(rubbish)) {
    it(`hangs up on ${what}`, async (t) => {
      const path = socketPath(t);
      const control = await serveIpc({ path, handler: async () => DONE });
      t.after(() => control.close());
      const peer = connect(path);
      peer.resume();
      peer.on('error', () => {});
      peer.write(bytes);
      await once(peer, 'close');
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
    assert.ok(handled > 0 && handled < 400, `${handled} requests were taken`);
  });
});

describe('connectIpc', () => {
  it('hangs up on a control plane that sends rubbish, and comes back', async (t) => {
    const path = socketPath(t);
    let connections = 0;
    const twice = Promise.withResolvers<void>();
    const server = createServer((socket) => {
      connections += 1;
      if (connections === 2) twice.resolve();
      socket.on('error', () => {});
      socket.end('rubbish that is no frame at all');
    });
    server.listen(path);
    t.after(() => server.close());
    const agent = connectIpc({ path, agent: EDGE });
    t.after(() => agent.close());
    await twice.promise;
  });

  it('turns a reply that it cannot understand into unsupported, with the reason', async (t) => {
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
