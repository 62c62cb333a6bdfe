import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { CollectorAssignment } from '@portcullis/link/messages/collector.ts';
import { createMemoryLink } from '@portcullis/link/transport/memory.ts';
import type { AgentRequest, ControlReply } from '@portcullis/link/messages/messages.ts';
import type { WatchScope } from '@portcullis/core/attacks/detector/scope-settings.ts';
import type { WireSample } from '@portcullis/link/messages/attacks.ts';
import { netflowV5 } from './testing/datagrams.ts';
import { CollectorAgent } from './agent.ts';

const HELD = '203.0.113.10';
const LOG = { debug() {}, info() {}, warn() {}, error() {} };

function flowTo(destination: string): Buffer {
  const ports = { sourcePort: 53, destinationPort: 4444 };
  const counts = { packets: 100_000, bytes: 50_000_000, firstMs: 0, lastMs: 0 };
  const ends = { source: '198.51.100.7', destination, protocol: 17, tcpFlags: 0 };
  return netflowV5([{ ...ends, ...ports, ...counts }]);
}

function scopeOf(scope: string): WatchScope {
  const thresholds = { pps: 20_000, bps: 1e9, holdMs: 60_000 };
  return { scope, ...thresholds, mitigation: 'on', safelist: [], subject: true };
}

async function bound(t: TestContext): Promise<Socket> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  t.after(() => socket.close());
  return socket;
}

async function freeAddress(): Promise<string> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  socket.close();
  return `127.0.0.1:${port}`;
}

/** A control plane with a changeable assignment and scopes that records its messages. */
function meet(t: TestContext, first: CollectorAssignment) {
  const received: AgentRequest[] = [];
  const wants = { settings: first as CollectorAssignment | null, scopes: [scopeOf(HELD)] };
  const link = createMemoryLink(async (_, request): Promise<ControlReply> => {
    received.push(request);
    if (request.kind === 'collector.hello') {
      const { settings } = wants;
      if (settings === null) return { kind: 'refused', code: 'unknown_agent', detail: 'none' };
      const periods = { reportMs: 50, resyncMs: 60_000 };
      return { kind: 'collector.welcome', protocolVersion: 1, settings, ...periods };
    }
    if (request.kind !== 'detection.getSettings') return { kind: 'done' };
    return { kind: 'watch.settings', version: 'v1', scopes: wants.scopes, next: null };
  });
  const agent = new CollectorAgent({
    link: link.connect({ kind: 'collector', name: 'flows' }),
    log: LOG,
  });
  agent.start();
  t.after(async () => {
    await agent.stop();
    await link.control.close();
  });
  const until = async <T>(what: string, find: () => T | undefined): Promise<T> => {
    for (let tries = 0; ; tries++) {
      const found = find();
      if (found !== undefined) return found;
      assert.ok(tries < 6_000, what);
      await delay(5);
    }
  };
  const status = () =>
    received.flatMap((one) => (one.kind === 'collector.report' ? [one.report] : [])).at(-1);
  const samples = (): WireSample[] =>
    received.flatMap((one) => (one.kind === 'watch.samples' ? one.samples : []));
  return { link, received, wants, until, status, samples };
}

test('a collector reports flows of listed exporters to protected addresses, and nothing else', async (t) => {
  const listen = await freeAddress();
  const { until, status, samples } = meet(t, {
    listen,
    exporters: [{ ip: '127.0.0.1', samplingRate: null, prefixes: null }],
  });
  await until('it listens', () => (status()?.listening === listen ? true : undefined));
  const sender = await bound(t);
  const port = Number(listen.split(':')[1]);
  const reported = await until('it tells', () => {
    for (const to of [HELD, '203.0.113.11']) sender.send(flowTo(to), port, '127.0.0.1');
    return samples().find(({ addresses }) => addresses.length > 0);
  });
  assert.deepEqual(
    [reported.addresses.map(({ subject, prefix }) => [subject, prefix]), reported.prefixes],
    [[[HELD, null]], []],
  );
  const [exporter] = status()?.exporters ?? [];
  assert.equal(exporter?.ip, '127.0.0.1');
  await until('what is not protected is counted', () => (status()?.outside ? true : undefined));
});

test('an exporter limited to some networks counts for these alone, also after a change', async (t) => {
  const listen = await freeAddress();
  const only = (prefixes: readonly string[] | null) => ({
    listen,
    exporters: [{ ip: '127.0.0.1', samplingRate: null, prefixes }],
  });
  const { link, wants, until, status, samples } = meet(
    t,
    only(['203.0.113.128/25', '2001:db8::/32']),
  );
  wants.scopes = [scopeOf('203.0.113.0/24')];
  await until('it listens', () => (status()?.listening === listen ? true : undefined));
  const sender = await bound(t);
  const port = Number(listen.split(':')[1]);
  const reported = () =>
    new Set(samples().flatMap((one) => one.addresses.map(({ subject }) => subject)));
  const send = (): void => {
    for (const last of [1, 127, 128, 255])
      sender.send(flowTo(`203.0.113.${last}`), port, '127.0.0.1');
  };
  await until('it tells of those', () => {
    send();
    return reported().size === 2 && (status()?.outside ?? 0) > 0 ? true : undefined;
  });
  assert.deepEqual(reported(), new Set(['203.0.113.128', '203.0.113.255']));
  wants.settings = only(null);
  link.control.notify({ kind: 'collectors' });
  await until('it tells of all', () => {
    send();
    return reported().size === 4 ? true : undefined;
  });
});

test('evidence names the top sources of busy subjects, scaled by the sampling rate', async (t) => {
  const listen = await freeAddress();
  const { until, status, samples } = meet(t, {
    listen,
    exporters: [{ ip: '127.0.0.1', samplingRate: 50, prefixes: null }],
  });
  await until('it listens', () => (status()?.listening === listen ? true : undefined));
  const sender = await bound(t);
  const port = Number(listen.split(':')[1]);
  const reported = await until('it tells who', () => {
    sender.send(flowTo(HELD), port, '127.0.0.1');
    return samples().flatMap(({ tops }) => tops)[0];
  });
  const { samples: seen = 0, packets = 0 } = reported.sampled ?? {};
  assert.equal(reported.subject, HELD);
  // 100,000 packets in every record, each for 50.
  assert.ok(seen >= 100_000 && packets >= 5_000_000, `${seen} of ${packets}`);
  assert.deepEqual(
    [reported.sources.map(({ source }) => source), reported.sourcePorts[0]?.port],
    [['198.51.100.7'], 53],
  );
  assert.equal(reported.destinationPorts[0]?.port, 4444);
});

test('an address that is in use is reported and used once it is free', async (t) => {
  const other = await bound(t);
  const elsewhere = { ...other.address() };
  const taken = `127.0.0.1:${elsewhere.port}`;
  const exporters = [{ ip: '127.0.0.1', samplingRate: 100, prefixes: null }];
  const { link, wants, until, status } = meet(t, { listen: taken, exporters });
  const { problem } = await until('the problem', () => (status()?.problem ? status() : undefined));
  assert.match(problem ?? '', /is taken by another program/);
  wants.settings = { listen: '127.0.0.1:0', exporters };
  link.control.notify({ kind: 'collectors' });
  await until('it listens', () => (status()?.listening === '127.0.0.1:0' ? true : undefined));
  assert.equal(status()?.problem, null);
});

test('a collector that control does not know closes its socket', async (t) => {
  const listen = await freeAddress();
  const { link, wants, until, status } = meet(t, { listen, exporters: [] });
  await until('it listens', () => (status()?.listening === listen ? true : undefined));
  wants.settings = null;
  link.control.notify({ kind: 'collectors' });
  const port = Number(listen.split(':')[1]);
  for (let isFree = false; !isFree; ) {
    const socket = createSocket('udp4').bind(port, '127.0.0.1');
    isFree = await once(socket, 'listening').then(
      () => true,
      () => false,
    );
    socket.close();
  }
});
