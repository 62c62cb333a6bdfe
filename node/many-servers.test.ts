import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { TestHost } from './testing/host.ts';

const MANY = 120;
/** The console, timers and state of an idle server. */
const BYTES_EACH = 256 * 1024;

describe('a node with many servers', () => {
  it('starts and finds all of them, with little memory for each idle server', async (t) => {
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
