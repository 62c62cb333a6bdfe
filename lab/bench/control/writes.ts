import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Row } from '../report.ts';
import type { BenchFleet } from './control-fixture.ts';
import { CONNECTIONS, mean, mustAnswer, ROUND_MS, ROUNDS, runLoad } from './rounds.ts';

const MANY_CONNECTIONS = 50;

/** The cost of writes beside the least that could store them. */
export async function writeRows(
  say: (line: string) => void,
  port: number,
  databaseUrl: string,
  fleet: BenchFleet,
): Promise<Row[]> {
  const pgbench = findPgbench();
  if (pgbench === null)
    say('pgbench is not installed (Debian: postgresql-contrib): no baseline for writes');
  const creates: number[] = [];
  const replaces: number[] = [];
  const baselines: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const inserted = pgbench === null ? null : runPgbench(pgbench, databaseUrl, fleet);
    const created = runLoad(port, writes(fleet, port, round));
    mustAnswer(created, '201');
    const replaced = runLoad(port, replacements(fleet, port, round));
    mustAnswer(replaced, '200');
    say(
      `write round ${round}: ${Math.round(created.requestsPerSecond)} creates/s (p99 ${created.p99Ms.toFixed(1)} ms), ${Math.round(replaced.requestsPerSecond)} replaces/s, pgbench ${inserted === null ? '-' : Math.round(inserted)}/s`,
    );
    if (round === 0) continue;
    creates.push(created.requestsPerSecond);
    replaces.push(replaced.requestsPerSecond);
    if (inserted !== null) baselines.push(inserted);
  }
  const many = runLoad(port, writes(fleet, port, ROUNDS + 1), MANY_CONNECTIONS);
  mustAnswer(many, '201');
  const baseline = baselines.length === 0 ? null : mean(baselines);
  return rowsOf({ created: mean(creates), replaced: mean(replaces), baseline, p99Ms: many.p99Ms });
}

function rowsOf(found: {
  readonly created: number;
  readonly replaced: number;
  readonly baseline: number | null;
  readonly p99Ms: number;
}): Row[] {
  const { created, replaced, baseline, p99Ms } = found;
  const beside = '(baseline: pgbench, one insert a transaction, the same server)';
  const row = (name: string, value: number, goal: number): Row => ({
    name: `${name} ${beside}`,
    value,
    unit: 'requests/s',
    baseline,
    goal: baseline === null ? null : goal,
  });
  return [
    row('POST /firewall/ips/{ip}/rules', created, 0.15),
    row('PUT /api/x1/firewall/ips/{ip}, ten rules replaced', replaced, 0.1),
    {
      name: `p99 of a create with ${MANY_CONNECTIONS} connections`,
      value: p99Ms,
      unit: 'ms',
      baseline: null,
      goal: 50,
      goalIs: 'at most',
    },
  ];
}

/** Ports that no round used before; a few hundred for each of the addresses kept for writing. */
export function writes(fleet: BenchFleet, port: number, round: number): string[] {
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

/** Ten rules of every address, none of which the round before had. */
function replacements(fleet: BenchFleet, port: number, round: number): string[] {
  const text = (ip: string, turn: number): string => {
    const rules = Array.from({ length: 10 }, (_, at) => ({
      action: 'allow',
      protocol: 'tcp',
      destination_port: `${1 + ((round * 3 + turn) % 600) * 100 + at}`,
    }));
    const body = JSON.stringify({ rules, filters: [] });
    return `PUT /api/x1/firewall/ips/${ip} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${fleet.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  };
  return [0, 1, 2].flatMap((turn) => fleet.replaceAddresses.map((ip) => text(ip, turn)));
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
