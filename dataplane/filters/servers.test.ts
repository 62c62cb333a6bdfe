import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { probeServer, readInfo } from './server-probe.ts';
import { KnownServers } from './servers.ts';
import type { TcpServer } from './tcp-server.ts';

test('reads the TCP options of a real server, limited to an Ethernet MTU', async () => {
  const listening = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const { port } = listening.address() as { port: number };
  const server = await probeServer('127.0.0.1', port);
  listening.close();
  await once(listening, 'close');
  assert.equal(server?.mss, 1460);
  assert.ok(server.windowScale !== null && server.windowScale <= 14);
  assert.equal(server.sack, true);
  assert.equal(await probeServer('127.0.0.1', port), null, 'nobody listens');
});

test('parses tcp_info as written by Linux', () => {
  const info = Buffer.alloc(24);
  info.writeUInt8(1 | 4, 5);
  info.writeUInt8(0x79, 6);
  info.writeUInt32LE(1388, 16);
  assert.deepEqual(readInfo(info, 1460), {
    mss: 1400,
    windowScale: 9,
    timestamps: true,
    sack: false,
  });
  info.writeUInt8(2, 5);
  assert.deepEqual(readInfo(info, 1300), {
    mss: 1300,
    windowScale: null,
    timestamps: false,
    sack: true,
  });
});

const LINUX: TcpServer = { mss: 1460, windowScale: 7, timestamps: true, sack: true };

test('queries new servers once, keeps the answers of silent ones, and reports changes', async (t) => {
  const output = new Map<string, TcpServer>([['203.0.113.10 80', LINUX]]);
  const requested: string[] = [];
  const changes: (readonly string[])[] = [];
  const again = Promise.withResolvers<void>();
  const servers = new KnownServers({
    probe: async (address, port) => {
      requested.push(`${address} ${port}`);
      if (requested.length === 6) again.resolve();
      return output.get(`${address} ${port}`) ?? null;
    },
    onChange: (addresses) => changes.push(addresses),
    everyMs: 30,
  });
  t.after(() => servers.stop());
  const ports = [
    { address: '203.0.113.10', port: 80 },
    { address: '203.0.113.11', port: 80 },
  ];
  await servers.change([], ports);
  await servers.change(ports, ports);
  assert.deepEqual(requested.toSorted(), ['203.0.113.10 80', '203.0.113.11 80']);
  assert.deepEqual(servers.at('203.0.113.10', 80), LINUX);
  assert.equal(servers.at('203.0.113.11', 80), null);
  assert.deepEqual(changes, [['203.0.113.10']]);
  output.delete('203.0.113.10 80');
  await again.promise;
  assert.deepEqual(servers.at('203.0.113.10', 80), LINUX);
  assert.deepEqual(changes, [['203.0.113.10']]);
  await servers.change(ports, []);
  assert.equal(servers.at('203.0.113.10', 80), null);
});
