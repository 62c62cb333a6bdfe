import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { netflowV5 } from '@portcullis/collector/testing/datagrams.ts';
import { freePort } from './testing/free-port.ts';
import { parseExporters, parseListen } from './commands/collector/flow-options.ts';

const FLOW = {
  source: '198.51.100.7',
  destination: '203.0.113.10',
  protocol: 17,
  sourcePort: 53,
  destinationPort: 4444,
  tcpFlags: 0,
  packets: 100_000,
  bytes: 50_000_000,
  firstMs: 0,
  lastMs: 0,
};

interface Line {
  readonly top: readonly { readonly ip: string; readonly pps: number }[];
  readonly events: readonly {
    readonly kind: string;
    readonly attack: { readonly subject: string; readonly type: string };
  }[];
  readonly counters: { readonly records: number };
}

describe('portcullis collector', () => {
  it('prints the top destinations and attacks as JSON lines, and stops on a signal', async (t) => {
    const sender = createSocket('udp4');
    t.after(() => sender.close());
    const port = await freePort();
    const main = join(import.meta.dirname, 'main.ts');
    const child = spawn(
      process.execPath,
      [main, 'collector', '--listen', `127.0.0.1:${port}`, '--exporter', '127.0.0.1', '--json'],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    t.after(() => child.kill('SIGKILL'));
    const attackLine = Promise.withResolvers<Line>();
    child.once('exit', (code) => attackLine.reject(new Error(`the collector exited with ${code}`)));
    createInterface({ input: child.stdout }).on('line', (text) => {
      const line = JSON.parse(text) as Line;
      if (line.events.length > 0) attackLine.resolve(line);
      // The first line shows that the socket is open.
      sender.send(netflowV5([FLOW]), port, '127.0.0.1');
    });
    const { top, events, counters } = await attackLine.promise;
    assert.deepEqual(
      top.map(({ ip }) => ip),
      ['203.0.113.10'],
    );
    const [{ kind, attack } = assert.fail('no event')] = events;
    assert.deepEqual(
      [kind, attack.subject, attack.type],
      ['opened', '203.0.113.10', 'dns_amplification'],
    );
    assert.ok(counters.records >= 1);
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    assert.deepEqual(await exit, [0, null]);
  });

  it('rejects an invalid address, port or rate and names it', () => {
    for (const text of ['6343', '0.0.0.0', 'localhost:1', '0.0.0.0:70000', '::1:5', '1.2.3.4:01']) {
      assert.throws(() => parseListen(text), /not ADDRESS:PORT/);
    }
    assert.deepEqual(parseListen('[2001:DB8::1]:2055'), {
      host: '2001:db8::1',
      family: 6,
      port: 2055,
    });
    for (const text of ['192.0.2.1=0', '192.0.2.1=x', '192.0.2.1=1=2', '192.0.2.1=99999999']) {
      assert.throws(() => parseExporters([text]), /a rate is a number/);
    }
    assert.throws(() => parseExporters(['router1']), /not an IP address/);
    assert.deepEqual(
      parseExporters(['2001:DB8::1', '192.0.2.1=1000']),
      new Map([
        ['2001:db8::1', 1],
        ['192.0.2.1', 1000],
      ]),
    );
  });
});
