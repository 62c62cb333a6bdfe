import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type BenchFleet, fillFleet } from './control-fixture.ts';
import { residentMib } from '../measure.ts';
import { end, startControl } from './control-process.ts';
import type { Bench, Row } from '../report.ts';
import { idleRow } from './idle.ts';
import { mean, mustAnswer, ROUNDS, runLoad } from './rounds.ts';
import { fleetFileRows } from './fleet-files.ts';
import { strangersRow } from './strangers.ts';
import { streamRows } from './streams.ts';
import { writeRows } from './writes.ts';

const IDLE_MS = 5000;

/** The time that a read and a write of the public interface cost beside the least that could answer them. */
export const controlBench: Bench = {
  name: 'control',
  missing: () => null,
  async run(say) {
    const data = mkdtempSync(join(tmpdir(), 'portcullis-bench-'));
    const control = await startControl(data);
    const bare = { child: null as ChildProcess | null };
    try {
      await wait(IDLE_MS);
      const memory = residentMib(control.child.pid);
      const idle = await idleRow(data, control.databaseUrl);
      const fleet = await fillFleet(control.databaseUrl);
      const baseline = await startBare(control.databaseUrl, fleet.organisationId);
      bare.child = baseline.child;
      const bareMemory = residentMib(baseline.child.pid);
      return [
        idle,
        await readRow(say, control.port, baseline.port, fleet),
        await strangersRow(say, control.port, fleet),
        ...(await writeRows(say, control.port, control.databaseUrl, fleet)),
        ...(await streamRows(say, control, fleet)),
        ...fleetFileRows(say, control.databaseUrl, data),
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

async function startBare(databaseUrl: string, organisationId: number) {
  const options = JSON.stringify({ databaseUrl, organisationId, poolSize: 10 });
  const child = fork(join(import.meta.dirname, 'bare-server.ts'), [options]);
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  return { child, port };
}
