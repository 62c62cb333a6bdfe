import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@portcullis/client/client.ts';
import { eachOf } from '@portcullis/caller/file/load.ts';
import { fillFleet } from '../control/control-fixture.ts';
import { end, startControl } from '../control/control-process.ts';
import type { Bench, Row } from '../report.ts';

const STARTS = 15;
const ADDRESSES = 100;
const RULES = 100;
const ROUNDS = 3;
const CALLER = join(import.meta.dirname, '..', '..', '..', 'caller');
const PROGRAM = join(CALLER, 'dist', 'portcullis.js');

/** How fast the packed command starts, and what a file costs beside the same writes by the interface. */
export const commandBench: Bench = {
  name: 'command',
  missing: () => null,
  async run(say) {
    const data = mkdtempSync(join(tmpdir(), 'portcullis-bench-'));
    // Control and PostgreSQL use another account, which must be able to enter.
    chmodSync(data, 0o711);
    await run(process.execPath, [join(CALLER, 'build.ts')], {});
    const control = await startControl(join(data, 'control'));
    try {
      const { key } = await fillFleet(control.databaseUrl);
      const url = `http://127.0.0.1:${control.port}`;
      const env = { PORTCULLIS_URL: url, PORTCULLIS_API_KEY: key, HOME: data };
      return [...startRows(env), await applyRow(say, join(data, 'rules.yaml'), env)];
    } finally {
      await end(control.child);
      rmSync(data, { recursive: true, force: true });
    }
  },
};

type Environment = Readonly<Record<'PORTCULLIS_URL' | 'PORTCULLIS_API_KEY' | 'HOME', string>>;

function startRows(env: Environment): Row[] {
  const start = (command: string, ...args: readonly string[]): number => {
    const times = Array.from({ length: STARTS }, () => {
      const startMs = performance.now();
      const { status } = spawnSync(command, args, { env: { ...process.env, ...env } });
      if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}`);
      return performance.now() - startMs;
    });
    return times.toSorted((a, b) => a - b)[Math.floor(STARTS / 2)] ?? 0;
  };
  const npm = start('npm', '--version');
  const row = (name: string, value: number): Row => ({
    name: `${name}, median; npm --version takes ${Math.round(npm)} ms`,
    value,
    unit: 'ms',
    baseline: null,
    goal: 150,
    goalIs: 'at most',
  });
  return [
    row('portcullis --help', start(process.execPath, PROGRAM, '--help')),
    row('portcullis whoami, with its request', start(process.execPath, PROGRAM, 'whoami')),
  ];
}

/** Each round has other ports, so that every rule is new and the ones before go. */
async function applyRow(say: (line: string) => void, file: string, env: Environment): Promise<Row> {
  const client = createClient({ baseUrl: env.PORTCULLIS_URL, key: env.PORTCULLIS_API_KEY });
  const ips = Array.from({ length: ADDRESSES }, (_, index) => `203.0.113.${128 + index}`);
  let first = 1_000;
  const next = (): string => {
    first += RULES;
    return `${first}-${first + RULES - 1}`;
  };
  const found = { command: [] as number[], interface: [] as number[] };
  for (let round = 0; round <= ROUNDS; round += 1) {
    const ports = next();
    const rule = { action: 'allow', protocol: 'tcp', destination_port: ports } as const;
    const rules = Object.fromEntries(ips.map((ip) => [ip, { rules: [rule] }]));
    writeFileSync(file, JSON.stringify({ addresses: rules }));
    let startMs = performance.now();
    const apply = ['firewall', 'apply', '-f', file, '--prune', '--yes', '--quiet'];
    await run(process.execPath, [PROGRAM, ...apply], env);
    const commandMs = performance.now() - startMs;
    startMs = performance.now();
    const other = { ...rule, destination_port: next() };
    await eachOf(ips, async (ip) => {
      await client.replaceAddress({ ip, body: { rules: [other], filters: [] } });
    });
    const interfaceMs = performance.now() - startMs;
    say(
      `round ${round}: ${Math.round(commandMs)} ms, by the interface ${Math.round(interfaceMs)} ms`,
    );
    // Round 0 warms both up.
    if (round === 0) continue;
    found.command.push(commandMs);
    found.interface.push(interfaceMs);
  }
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  return {
    name: `firewall apply of ${ADDRESSES} addresses x ${RULES} rules (baseline: a replace of each address)`,
    value: mean(found.command),
    unit: 'ms',
    baseline: mean(found.interface),
    goal: 1.5,
    goalIs: 'at most',
  };
}

async function run(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: 'inherit' });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}`);
}
