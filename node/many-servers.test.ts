import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { TestHost } from './testing/host.ts';

const MANY = 120;
/** One server's console, timers and state while nothing happens. */
const BYTES_EACH = 256 * 1024;

describe('a node with many servers', () => {
  it('starts them all, finds them all again, and takes little memory for each while they idle', async (t) => {
    const host = new TestHost(t);
    const before = settledMemory();
    const uuids = await host.servers(MANY);
    await Promise.all(uuids.map((uuid) => host.power(uuid, 'start')));
    for (const uuid of uuids) await host.becomes(uuid, 'running');
    const each = (settledMemory() - before) / MANY;
    t.diagnostic(`${Math.round(each / 1024)} KiB a server, the fake engine included`);
    assert.ok(each < BYTES_EACH, `${each} bytes`);
    await host.restart();
    for (const uuid of uuids) await host.becomes(uuid, 'running');
    for (const uuid of uuids) assert.equal(host.count('start', uuid), 0);
    await Promise.all(uuids.map((uuid) => host.power(uuid, 'stop')));
    for (const uuid of uuids) await host.becomes(uuid, 'offline');
  });
});

const collect = collector();

function settledMemory(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function collector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
