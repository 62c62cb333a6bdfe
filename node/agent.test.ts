import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TestHost } from './testing/host.ts';

const ACCEPTED = { kind: 'accepted' };

describe('a node', () => {
  it('takes a server from its assignment to running, and to its stop, as the egg says', async (t) => {
    const host = new TestHost(t);
    const uuid = await host.server();
    assert.equal(await host.state(uuid), 'offline');
    assert.deepEqual(await host.power(uuid, 'start'), ACCEPTED);
    await host.becomes(uuid, 'running');
    const said = await host.control.call(uuid, { kind: 'command', command: 'say hello' });
    assert.deepEqual(said, ACCEPTED);
    const lines = await host.lines(uuid);
    assert.ok(lines.includes('ready') && lines.includes('say hello'), lines.join('\n'));
    assert.deepEqual(await host.power(uuid, 'stop'), ACCEPTED);
    await host.becomes(uuid, 'offline');
    assert.equal(host.count('signal', uuid) + host.count('kill', uuid), 0);
  });
});
