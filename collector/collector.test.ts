import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { Collector } from './collector.ts';
import { parseDrops } from './exporter/socket-drops.ts';
import { netflowV5 } from './testing/datagrams.ts';

const FLOW = {
  source: '198.51.100.7',
  destination: '203.0.113.10',
  protocol: 17,
  sourcePort: 53,
  destinationPort: 4444,
  tcpFlags: 0,
  packets: 10,
  bytes: 5000,
  firstMs: 0,
  lastMs: 0,
};

async function send(from: string, port: number, bytes: Buffer): Promise<void> {
  const socket = createSocket(from.includes(':') ? 'udp6' : 'udp4');
  socket.bind(0, from);
  await once(socket, 'listening');
  await new Promise<void>((sent) => socket.send(bytes, port, from, () => sent()));
  socket.close();
}

describe('a collector', () => {
  it('counts flows of listed exporters on sockets of both families, and of no others', {
    timeout: 30_000,
  }, async (t) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const total = new Map<string, number>();
    const collector = await Collector.open({
      listen: [
        { host: '127.0.0.1', family: 4, port: 0 },
        { host: '::1', family: 6, port: 0 },
      ],
      exporters: new Map([
        ['::1', 100],
        ['127.0.0.1', 1],
      ]),
      prefixes: null,
      detail: { packets: 0, bytes: 0 },
      onSample: (sample) => {
        for (const { subject, packets } of sample.addresses) {
          total.set(subject, (total.get(subject) ?? 0) + packets);
        }
        if (total.size === 2) resolve();
      },
    });
    t.after(() => collector.close());
    const [four, six] = collector.sockets;
    assert.ok(four !== undefined && six !== undefined);
    const unknown = createSocket('udp4');
    t.after(() => unknown.close());
    unknown.bind(0, '127.0.0.2');
    await once(unknown, 'listening');
    await new Promise<void>((sent) =>
      unknown.send(netflowV5([FLOW]), four.port, '127.0.0.1', () => sent()),
    );
    await send('127.0.0.1', four.port, netflowV5([FLOW]));
    await send('::1', six.port, netflowV5([{ ...FLOW, destination: '203.0.113.11' }]));
    await promise;
    assert.deepEqual(Object.fromEntries(total), { '203.0.113.10': 10, '203.0.113.11': 1000 });
    const { datagrams, records, unknownExporters, malformed } = collector.counters();
    assert.deepEqual(
      { datagrams, records, unknownExporters, malformed },
      { datagrams: 2, records: 2, unknownExporters: 1, malformed: 0 },
    );
  });

  it('that cannot listen reports it and leaves nothing open', async () => {
    const options = { exporters: new Map(), prefixes: null, detail: { packets: 0, bytes: 0 } };
    const listen = [{ host: '192.0.2.1', family: 4, port: 0 } as const];
    await assert.rejects(
      Collector.open({ ...options, listen, onSample: () => {} }),
      /EADDRNOTAVAIL/,
    );
  });
});

describe('drops of sockets', () => {
  it("are read from the kernel's table by port", () => {
    const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
  345: 00000000:18C7 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 23 2 0000000000000000 17
  346: 0100007F:0044 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 24 2 0000000000000000 5
`;
    assert.equal(parseDrops(table, [6343]), 17);
    assert.equal(parseDrops(table, [6343, 68]), 22);
    assert.equal(parseDrops(table, [1]), 0);
  });
});
