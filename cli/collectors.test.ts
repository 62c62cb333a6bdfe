import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { netflowV5 } from '@portcullis/collector/testing/datagrams.ts';
import { MAIN, runToEnd } from './testing/run.ts';

const LIMIT_MS = 45_000;
const FLOW = {
  source: '198.51.100.7',
  destination: '203.0.113.10',
  protocol: 17,
  sourcePort: 53,
  destinationPort: 4444,
  tcpFlags: 0,
  packets: 1000,
  bytes: 500_000,
  firstMs: 0,
  lastMs: 0,
};

interface Listed {
  readonly name: string;
  readonly connected: boolean;
  readonly report: {
    readonly listening: string | null;
    readonly problem: string | null;
    readonly strangers: number;
    readonly exporters: readonly { readonly ip: string; readonly records: number }[];
  } | null;
}

suite('the collectors of a fleet, run by `up`', { timeout: 170_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-collectors-'));
  const file = join(folder, 'fleet.yaml');
  const env = { PATH: process.env['PATH'], HOME: folder, PORTCULLIS_DATA: join(folder, 'data') };
  let up: ChildProcess;
  let said = '';
  let taken: Socket;
  let port = 0;

  before(async () => {
    // As root, PostgreSQL is another account and has to get through.
    chmodSync(folder, 0o711);
    taken = await bound();
    const free = await bound();
    ({ port } = free.address());
    free.close();
    writeFileSync(file, fleet(collector(port, '127.0.0.1')));
    const args = ['up', '--fleet', file, '--listen', '127.0.0.1:0', '--metrics-listen', 'off'];
    up = spawn(process.execPath, [MAIN, ...args, '--json'], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    up.stderr?.on('data', (text: Buffer) => (said += text.toString()));
    const started = once(up.stdout as NodeJS.ReadableStream, 'data');
    const ended = once(up, 'exit').then(() => assert.fail(said));
    await Promise.race([started, ended]);
  });
  after(async () => {
    taken.close();
    if (up.exitCode === null) {
      const gone = once(up, 'exit');
      up.kill('SIGTERM');
      await gone;
    }
    rmSync(folder, { recursive: true, force: true });
  });

  test('each listens as the file says, hears its exporters, and nobody else', async () => {
    await until('it listens', ({ report }) => report?.listening === `127.0.0.1:${port}`);
    const sender = createSocket('udp4').bind(0, '127.0.0.1');
    const stranger = createSocket('udp4').bind(0, '127.0.0.2');
    try {
      const { report } = await until('it hears', ({ report: known }) => {
        sender.send(netflowV5([FLOW]), port, '127.0.0.1');
        stranger.send(netflowV5([FLOW]), port, '127.0.0.1');
        return (known?.exporters[0]?.records ?? 0) > 0 && (known?.strangers ?? 0) > 0;
      });
      assert.deepEqual(
        report?.exporters.map(({ ip }) => ip),
        ['127.0.0.1'],
      );
    } finally {
      sender.close();
      stranger.close();
    }
  });

  test('each is a process without rights', () => {
    const status = readFileSync(`/proc/${pidOf()}/status`, 'utf8');
    if (process.getuid?.() === 0) assert.match(status, /^Uid:\s+65533\s+65533/m);
    assert.match(status, /^CapEff:\s+0+$/m);
  });

  test('one that is killed is started again', async () => {
    const before = pidOf();
    process.kill(before, 'SIGKILL');
    const begin = performance.now();
    while (pidOf() === before || Number.isNaN(pidOf())) {
      assert.ok(performance.now() - begin < LIMIT_MS, 'it did not come back');
      await delay(50);
    }
    await until(
      'it listens again',
      ({ connected, report }) => connected && report?.listening !== null,
    );
    assert.match(said, /collector flows ended \(SIGKILL\); starting it again/);
  });

  test('a changed file takes effect without a restart; an address that is taken is said in words', async () => {
    const process = pidOf();
    await apply(collector(taken.address().port, '127.0.0.9'));
    const { report } = await until('it says so', ({ report: known }) => known?.problem !== null);
    assert.match(report?.problem ?? '', /is taken by another program: end that, or choose another/);
    assert.equal(report?.listening, null);
    await apply(collector(port, '127.0.0.9'));
    await until('it listens', ({ report: known }) => known?.listening === `127.0.0.1:${port}`);
    const changed = await until('it hears others', ({ report: known }) =>
      (known?.exporters ?? []).some(({ ip }) => ip === '127.0.0.9'),
    );
    assert.equal(changed.report?.exporters.length, 1);
    assert.equal(pidOf(), process);
  });

  test('one that the file names no more ends', async () => {
    await apply('');
    const begin = performance.now();
    while (!Number.isNaN(pidOf())) {
      assert.ok(performance.now() - begin < LIMIT_MS, 'it did not end');
      await delay(50);
    }
  });

  function collector(at: number, exporter: string): string {
    return `collectors:
  - { name: flows, listen: "127.0.0.1:${at}", exporters: [{ ip: ${exporter} }] }
`;
  }

  async function apply(collectors: string): Promise<void> {
    writeFileSync(file, fleet(collectors));
    const { code, err } = await portcullis('fleet', 'apply', file);
    assert.equal(code, 0, err);
  }

  /** The process of the collector, a child of `up`; NaN: there is none. */
  function pidOf(): number {
    const child = readdirSync('/proc').find((name) => {
      try {
        const line = readFileSync(`/proc/${name}/cmdline`, 'utf8');
        const parent = /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${name}/status`, 'utf8'))?.[1];
        return Number(parent) === up.pid && line.includes('collector/main.ts');
      } catch {
        return false;
      }
    });
    return Number(child ?? Number.NaN);
  }

  async function until(what: string, holds: (one: Listed) => boolean): Promise<Listed> {
    const begin = performance.now();
    for (;;) {
      const { code, out, err } = await portcullis('collectors', 'list', '--json');
      assert.equal(code, 0, err);
      const [one] = (JSON.parse(out) as { readonly collectors: readonly Listed[] }).collectors;
      if (one !== undefined && holds(one)) return one;
      assert.ok(performance.now() - begin < LIMIT_MS, `${what}: ${out}${said}`);
      await delay(200);
    }
  }

  const portcullis = (...args: readonly string[]) => runToEnd(args, env, LIMIT_MS);
});

function fleet(collectors: string): string {
  return `organisations:
  acme:
    name: Acme
    asns: [64500]
    prefixes:
      - { cidr: 203.0.113.0/24, asn: 64500, since: "2026-01-01T00:00:00+00:00" }
${collectors}`;
}

async function bound(): Promise<Socket> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return socket;
}
