import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NodeHeartbeat } from '@portcullis/link/messages/node.ts';
import { assignmentOf, EGG, uuidOf } from './testing/eggs.ts';
import { TestHost, until } from './testing/host.ts';

const ACCEPTED = { kind: 'accepted' };

describe('a node', () => {
  it('starts an assigned server and stops it as the egg specifies', async (t) => {
    const host = new TestHost(t);
    const uuid = await host.server();
    assert.equal(await host.state(uuid), 'offline');
    assert.deepEqual(await host.power(uuid, 'start'), ACCEPTED);
    await host.becomes(uuid, 'running');
    const output = await host.control.call(uuid, { kind: 'command', command: 'say hello' });
    assert.deepEqual(output, ACCEPTED);
    const lines = await host.lines(uuid);
    assert.ok(lines.includes('ready') && lines.includes('say hello'), lines.join('\n'));
    assert.deepEqual(await host.power(uuid, 'stop'), ACCEPTED);
    await host.becomes(uuid, 'offline');
    assert.equal(host.count('signal', uuid) + host.count('kill', uuid), 0);
  });

  it('reports nothing of an engine that has not answered yet', async (t) => {
    const host = new TestHost(t);
    const described = Promise.withResolvers<void>();
    host.engine.before = (operation) => (operation === 'describe' ? described.promise : undefined);
    const digest = 'a'.repeat(64);
    host.control.assign([assignmentOf(1, digest)], { [digest]: EGG });
    host.begin();
    // It joined and received its server.
    await until(async () => (await host.state(uuidOf(1))) === 'offline');
    assert.ok(host.control.report === null);
    described.resolve();
    await host.built(uuidOf(1));
    const { engine } = (host.control.report as NodeHeartbeat | null) ?? {};
    assert.deepEqual(engine, { kind: 'fake', version: 'fake', problem: null });
  });
});
