import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Load, LoadResult } from './load.ts';
import { type BenchFleet, fillFleet } from './control-fixture.ts';
import type { Bench, Row } from '../report.ts';

const CONNECTIONS = 8;
/** Many short rounds in turn, so that what else the machine does meets both sides alike. */
const ROUNDS = 12;
const ROUND_MS = 1500;
const IDLE_MS = 5000;

/** What a read and a write of the public interface cost beside the least that could answer them. */
export const controlBench: Bench = {
  name: 'control',
  missing: () => null,
  async run(say) {
    const data = mkdtempSync(join(tmpdir(), 'portcullis-bench-'));
    const control = await startControl(data);
    const bare = { child: null as ChildProcess | null };
    try {
      await wait(IDLE_MS);
      const memory = residentMib(control.child);
      const fleet = await fillFleet(control.databaseUrl);
      const baseline = await startBare(control.databaseUrl, fleet.organisationId);
      bare.child = baseline.child;
      const bareMemory = residentMib(baseline.child);
      return [
        await readRow(say, control.port, baseline.port, fleet),
        await writeRow(say, control.port, control.databaseUrl, fleet),
        {
          name: 'resident memory of control, idle (baseline: the bare Fastify process)',
          value: memory,
          unit: 'MiB',
          baseline: bareMemory,
          goal: null,
        },
      ];
    } finally {
      await end(bare.child);
      await end(control.child);
      rmSync(data, { recursive: true, force: true });
    }
  },
};

async function readRow(
  say: (line: string) => void,
  port: number,
  barePort: number,
  fleet: BenchFleet,
): Promise<Row> {
  const ours = requests(fleet.addresses, port, (ip) => `GET /api/v1/firewall/ips/${ip}`, fleet.key);
  const theirs = requests(fleet.addresses, barePort, (ip) => `GET /bare/${ip}`, fleet.key);
  const rates: { ours: number; theirs: number }[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const bare = runLoad(barePort, theirs);
    const full = runLoad(port, ours);
    mustAnswer(bare, '200');
    mustAnswer(full, '200');
    say(
      `read round ${round}: ${Math.round(full.requestsPerSecond)}/s (p99 ${full.p99Ms.toFixed(1)} ms), bare ${Math.round(bare.requestsPerSecond)}/s`,
    );
    // Round 0 warms both up.
    if (round > 0) rates.push({ ours: full.requestsPerSecond, theirs: bare.requestsPerSecond });
  }
  return {
    name: `GET /firewall/ips/{ip} with ${fleet.rulesPerAddress} rules (baseline: bare Fastify, one equal query)`,
    value: mean(rates.map((rate) => rate.ours)),
    unit: 'requests/s',
    baseline: mean(rates.map((rate) => rate.theirs)),
    goal: 0.7,
  };
}

async function writeRow(
  say: (line: string) => void,
  port: number,
  databaseUrl: string,
  fleet: BenchFleet,
): Promise<Row> {
  const pgbench = findPgbench();
  if (pgbench === null)
    say('pgbench is not installed (Debian: postgresql-contrib): no baseline for writes');
  const rates: number[] = [];
  const baselines: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const inserted = pgbench === null ? null : runPgbench(pgbench, databaseUrl, fleet);
    const full = runLoad(port, writes(fleet, port, round));
    mustAnswer(full, '201');
    say(
      `write round ${round}: ${Math.round(full.requestsPerSecond)}/s (p99 ${full.p99Ms.toFixed(1)} ms), pgbench ${inserted === null ? '-' : Math.round(inserted)}/s`,
    );
    if (round === 0) continue;
    rates.push(full.requestsPerSecond);
    if (inserted !== null) baselines.push(inserted);
  }
  return {
    name: 'POST /firewall/ips/{ip}/rules (baseline: pgbench, one insert a transaction, the same server)',
    value: mean(rates),
    unit: 'requests/s',
    baseline: baselines.length === 0 ? null : mean(baselines),
    goal: null,
  };
}

function requests(
  ips: readonly string[],
  port: number,
  line: (ip: string) => string,
  key: string,
): string[] {
  return ips.map(
    (ip) =>
      `${line(ip)} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${key}\r\n\r\n`,
  );
}

/** Ports that no round used before; a few hundred for each of the addresses kept for writing. */
function writes(fleet: BenchFleet, port: number, round: number): string[] {
  const perRound = 100;
  const first = 1 + round * perRound;
  return Array.from({ length: perRound }, (_, index) => first + index).flatMap((rulePort) =>
    fleet.writeAddresses.map((ip) => {
      const body = JSON.stringify({
        action: 'allow',
        protocol: 'udp',
        destination_port: `${rulePort}`,
      });
      return `POST /api/v1/firewall/ips/${ip}/rules HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${fleet.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    }),
  );
}

/** The generator is a process of its own, so that it and the server do not share an event loop. */
function runLoad(port: number, texts: readonly string[]): LoadResult {
  const load: Load = {
    host: '127.0.0.1',
    port,
    connections: CONNECTIONS,
    durationMs: ROUND_MS,
    requests: texts,
  };
  const result = spawnSync(process.execPath, [join(import.meta.dirname, 'load.ts')], {
    input: JSON.stringify(load),
    encoding: 'utf8',
    maxBuffer: 1 << 24,
  });
  if (result.status !== 0) throw new Error(`the load generator failed: ${result.stderr}`);
  return JSON.parse(result.stdout) as LoadResult;
}

function mustAnswer(result: LoadResult, status: string): void {
  const others = Object.keys(result.statuses).filter((got) => got !== status);
  if (others.length > 0)
    throw new Error(`not every answer was ${status}: ${JSON.stringify(result.statuses)}`);
}

function runPgbench(pgbench: string, databaseUrl: string, fleet: BenchFleet): number {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-pgbench-'));
  try {
    const script = join(folder, 'insert.sql');
    writeFileSync(
      script,
      `\\set port random(1, 65535)\ninsert into bench_rules (address_id, action, protocol, port, created_generation) values (:client_id, 'allow', 'udp', :port, 1);\n`,
    );
    const { database, env } = libpq(databaseUrl);
    const args = [
      '-n',
      '-M',
      'prepared',
      '-c',
      String(CONNECTIONS),
      '-T',
      String(Math.ceil(ROUND_MS / 1000)),
      '-f',
      script,
      database,
    ];
    const result = spawnSync(pgbench, args, { encoding: 'utf8', env: { ...process.env, ...env } });
    const rate = /tps = ([0-9.]+)/.exec(result.stdout)?.[1];
    if (rate === undefined)
      throw new Error(`pgbench failed: ${result.stderr} (organisation ${fleet.organisationId})`);
    return Number(rate);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The address of the server as libpq's tools want it. */
function libpq(databaseUrl: string): { database: string; env: Record<string, string> } {
  const url = new URL(databaseUrl);
  const host = url.searchParams.get('host') ?? url.hostname;
  const env: Record<string, string> = {
    PGHOST: host,
    PGUSER: decodeURIComponent(url.username) || (url.searchParams.get('user') ?? ''),
  };
  const port = url.searchParams.get('port') ?? url.port;
  if (port !== '') env['PGPORT'] = port;
  return { database: url.pathname.slice(1), env };
}

function findPgbench(): string | null {
  const versions = '/usr/lib/postgresql';
  const folders = existsSync(versions)
    ? readdirSync(versions).map((v) => join(versions, v, 'bin'))
    : [];
  const places = [...(process.env['PATH'] ?? '').split(':'), ...folders];
  return places.map((folder) => join(folder, 'pgbench')).find((path) => existsSync(path)) ?? null;
}

async function startControl(data: string) {
  const child = fork(join(import.meta.dirname, '..', '..', '..', 'control', 'main.ts'), {
    env: {
      ...process.env,
      PORTCULLIS_DATA: data,
      PORTCULLIS_LISTEN: '127.0.0.1:0',
      PORTCULLIS_METRICS_LISTEN: 'off',
      PORTCULLIS_LOG_LEVEL: 'error',
    },
  });
  const [ready] = (await once(child, 'message')) as [
    { url: string; facts: { databaseUrl: string } },
  ];
  return { child, port: Number(new URL(ready.url).port), databaseUrl: ready.facts.databaseUrl };
}

async function startBare(databaseUrl: string, organisationId: number) {
  const options = JSON.stringify({ databaseUrl, organisationId, poolSize: 10 });
  const child = fork(join(import.meta.dirname, 'bare-server.ts'), [options]);
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return { child, port };
}

function residentMib({ pid }: ChildProcess): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
}

async function end(child: ChildProcess | null): Promise<void> {
  if (child === null || child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await gone;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
