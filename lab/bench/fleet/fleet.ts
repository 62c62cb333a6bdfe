import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { enrolAgent } from '@portcullis/control/agent-credential.ts';
import { type Db, openDatabase } from '@portcullis/control/db/database.ts';
import { migrationUrl } from '@portcullis/control/db/embedded/roles.ts';
import { loadInstallation, remoteCredential } from '@portcullis/control/nats/installation.ts';
import { formatCredential } from '@portcullis/link/credential.ts';
import { sql } from 'kysely';
import { missing } from '../../requirements.ts';
import { Machines } from '../../stack/machines.ts';
import { ADDRESSES, fillAddresses, RULES } from '../control/control-fixture.ts';
import { cpuMs, quantile, residentMib } from '../measure.ts';
import { drawing, type Line, panel } from '../dataplane/plot.ts';
import type { Bench, Row } from '../report.ts';
import type { SimulatedEdge } from './simulated-edges.ts';

const REAL = ['real1', 'real2', 'real3'];
/** Simulated edges, most first: processes of them are ended one after the other. */
const SIZES = [200, 20, 2] as const;
/** Addresses of 10.0.0.0/8 that a simulated edge serves. */
const SERVED = 512;
/** One process has all simulated edges, and each of them applies, saves and confirms every write. */
const WRITES_PER_SECOND = 2;
const WRITING_MS = 60_000;
const SYNC_MS = 180_000;
/** After a start from nothing: edges then store what they have, and PostgreSQL tidies up. */
const CALM_MS = 60_000;
const SETTLE_MS = 60_000;
const PLOT = join(import.meta.dirname, '..', '..', '..', 'docs', 'fleet-cost.svg');

/** The cost of a fleet of this number of edges while rules are written. */
interface Cost {
  readonly edges: number;
  readonly accepted: number;
  /** Accepted to live on every edge, in milliseconds. */
  readonly propagation: readonly number[];
  /** The share of one core, in per cent. */
  readonly controlCpu: number;
  readonly databaseCpu: number;
  /** The time of the processes of edges, which the other hosts would run. */
  readonly edgesCpu: number;
  readonly controlMib: number;
  readonly natsKibPerWrite: number;
}

/** Two hundred edges and a million rules: how long a sync of everything takes, and a write until it is live. */
export const fleetBench: Bench = {
  name: 'fleet',
  missing: () => missing(['root', 'netns', 'nft', 'bpf', 'nats-server']),
  async run(say) {
    const machines = await Machines.start('benchfleet', { edges: REAL });
    const memory = mkdtempSync('/dev/shm/portcullis-fleet-');
    const db = openDatabase({ url: migrationUrl(machines.databaseUrl), poolSize: 2 });
    const fleet = new Fleet(machines, db, memory);
    try {
      await fleet.fill();
      say(`${ADDRESSES} addresses of ${RULES} rules are in the database`);
      const sync = await fleet.startAll();
      say(`every edge is in service after ${Math.round(sync.ms)} ms`);
      await delay(CALM_MS);
      const costs: Cost[] = [];
      for (const [at, size] of SIZES.entries()) {
        if (at > 0) await fleet.shrink(size);
        const cost = await fleet.measure(size + REAL.length);
        const p99 = Math.round(quantile(cost.propagation, 0.99));
        say(`${cost.edges} edges: live after ${p99} ms (p99 of ${cost.accepted} writes)`);
        costs.push(cost);
      }
      writeFileSync(PLOT, plot(costs.toReversed()));
      return [...syncRows(sync), ...costs.flatMap(costRows)];
    } finally {
      await fleet.stop();
      await db.destroy();
      await machines.stop();
      rmSync(memory, { recursive: true, force: true });
    }
  },
};

class Fleet {
  readonly #machines: Machines;
  readonly #db: Db;
  /** In memory: the disks of the simulated edges are not this host's. */
  readonly #memory: string;
  readonly #groups: { readonly edges: readonly SimulatedEdge[]; child: ChildProcess | null }[] = [];
  #port = 1_000;

  constructor(machines: Machines, db: Db, memory: string) {
    this.#machines = machines;
    this.#db = db;
    this.#memory = memory;
  }

  async fill(): Promise<void> {
    for (const name of REAL) await this.#machines.end(name, 'SIGKILL');
    await this.#db.updateTable('edges').set({ in_service: false, instance: null }).execute();
    await fillAddresses(this.#db);
    const edges: SimulatedEdge[] = [];
    for (let index = 0; index < SIZES[0]; index += 1) edges.push(await this.#enrol(index));
    let left = edges;
    for (const [at, size] of SIZES.entries()) {
      const after = SIZES[at + 1] ?? 0;
      this.#groups.push({ edges: left.slice(after, size), child: null });
      left = left.slice(0, after);
    }
  }

  async #enrol(index: number): Promise<SimulatedEdge> {
    const name = `sim-${index}`;
    const first = index * SERVED;
    const serves = `10.${first >> 16}.${(first >> 8) & 255}.${first & 255}/23`;
    await sql`
      insert into edges (name, site, devices, serves, sees, fragments, management, owner)
      values (${name}, 'sim', '{ext0}', ${[serves]}::cidr[], 'both', 'limit', '[]', 'portal')`.execute(
      this.#db,
    );
    const agent = { kind: 'edge', name } as const;
    const operator = { kind: 'operator', name: 'bench', source: null, requestId: null } as const;
    const secret = await this.#db.transaction().execute((tx) => enrolAgent(tx, agent, operator));
    const nats = await loadInstallation(this.#db);
    if (secret === null || nats === null) throw new Error(`${name} was not enrolled`);
    return { name, credential: formatCredential(remoteCredential(nats, agent, secret)) };
  }

  /** Starts every edge with nothing, and waits until all of them enforce everything that they serve. */
  async startAll(): Promise<{ readonly ms: number; readonly controlMib: number }> {
    const startMs = performance.now();
    for (const name of REAL) this.#machines.startEdge(name);
    for (const group of this.#groups) group.child = this.#launch(group.edges);
    let controlMib = 0;
    await this.#until(SYNC_MS, async () => {
      controlMib = Math.max(controlMib, residentMib(this.#machines.pidOf('control')));
      const { rows } = await sql<{ missing: number }>`
        select count(*)::int as missing from edges, fleet
         where not in_service or confirmed_generation < generation`.execute(this.#db);
      return rows[0]?.missing === 0;
    });
    return { ms: performance.now() - startMs, controlMib };
  }

  #launch(edges: readonly SimulatedEdge[]): ChildProcess {
    const file = join(this.#memory, `${edges[0]?.name}.json`);
    writeFileSync(file, JSON.stringify(edges));
    const program = join(import.meta.dirname, 'simulated-edges.ts');
    return this.#machines.control.namespace.spawn([process.execPath, program, file, this.#memory], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
  }

  /** Ends the first process of simulated edges, which are then none of the fleet's. */
  async shrink(size: number): Promise<void> {
    const group = this.#groups.shift();
    await endAtOnce(group?.child ?? null);
    const names = group?.edges.map(({ name }) => name) ?? [];
    await sql`delete from edges where name = any (${names}::text[])`.execute(this.#db);
    const left = this.#groups.reduce((sum, { edges }) => sum + edges.length, 0);
    if (left !== size) throw new Error(`${left} simulated edges are left, not ${size}`);
  }

  async measure(edges: number): Promise<Cost> {
    const before = this.#use();
    const first = await this.#generation();
    const startMs = performance.now();
    const accepted = await this.#write();
    await this.#until(SETTLE_MS, async () => {
      const { rows } = await sql<{ waiting: number }>`
        select count(*)::int as waiting from generations where live_at is null`.execute(this.#db);
      return rows[0]?.waiting === 0;
    });
    const tookMs = performance.now() - startMs;
    const after = this.#use();
    const { rows } = await sql<{ ms: number }>`
      select extract(epoch from live_at - created_at)::float8 * 1000 as ms from generations
       where generation > ${first}`.execute(this.#db);
    return {
      edges,
      accepted,
      propagation: rows.map(({ ms }) => ms),
      controlCpu: (100 * (after.controlMs - before.controlMs)) / tookMs,
      databaseCpu: (100 * (after.databaseMs - before.databaseMs)) / tookMs,
      edgesCpu: (100 * (after.edgesMs - before.edgesMs)) / tookMs,
      controlMib: residentMib(this.#machines.pidOf('control')),
      natsKibPerWrite: (after.natsBytes - before.natsBytes) / 1024 / accepted,
    };
  }

  /** Creates rules at a steady rate, on addresses all over the fleet. Returns how many were accepted. */
  async #write(): Promise<number> {
    const running: Promise<void>[] = [];
    const total = (WRITES_PER_SECOND * WRITING_MS) / 1_000;
    const startMs = performance.now();
    for (let write = 0; write < total; write += 1) {
      await delay(Math.max(0, startMs + (write * 1_000) / WRITES_PER_SECOND - performance.now()));
      const n = 1 + ((write * 7_919) % ADDRESSES);
      const ip = `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`;
      const port = String((this.#port += 1));
      const rule = { action: 'deny', protocol: 'tcp', destination_port: port };
      const path = `/api/v1/firewall/ips/${ip}/rules`;
      running.push(
        this.#machines.api.call('POST', path, rule).then(({ status, body }) => {
          if (status !== 201) throw new Error(`${ip}: ${status} ${JSON.stringify(body)}`);
        }),
      );
    }
    await Promise.all(running);
    return total;
  }

  async #generation(): Promise<number> {
    const { generation } = await this.#db
      .selectFrom('fleet')
      .select('generation')
      .executeTakeFirstOrThrow();
    return generation;
  }

  #use() {
    const simulated = this.#groups.map(({ child }) => child?.pid ?? 0);
    const edges = [...REAL.map((name) => this.#machines.pidOf(name)), ...simulated];
    return {
      edgesMs: edges.reduce((sum, pid) => sum + cpuMs(pid), 0),
      controlMs: cpuMs(this.#machines.pidOf('control')),
      databaseMs: databaseCpuMs(),
      natsBytes: this.#machines.natsBytes(),
    };
  }

  async #until(ms: number, isDone: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + ms;
    while (!(await isDone())) {
      if (performance.now() > deadline) throw new Error(`not done after ${ms} ms`);
      await delay(100);
    }
  }

  async stop(): Promise<void> {
    for (const { child } of this.#groups) await endAtOnce(child);
  }
}

async function endAtOnce(child: ChildProcess | null): Promise<void> {
  if (child === null || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/** The time of all PostgreSQL processes of this host. */
function databaseCpuMs(): number {
  let sum = 0;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'postgres') sum += cpuMs(pid);
    } catch {
      // It has ended meanwhile.
    }
  }
  return sum;
}

const NO_GOAL = { baseline: null, goal: null } as const;

function syncRows({ ms, controlMib }: { readonly ms: number; readonly controlMib: number }): Row[] {
  const what = `${SIZES[0]} simulated edges and ${REAL.length} real ones from nothing, ${ADDRESSES.toLocaleString('en')} addresses x ${RULES} rules`;
  return [
    {
      name: `${what}: until every one enforces`,
      value: ms / 1_000,
      unit: 's',
      baseline: null,
      goal: 60,
      goalIs: 'at most',
    },
    {
      name: `${what}: control's resident memory, highest`,
      value: controlMib,
      unit: 'MiB',
      ...NO_GOAL,
    },
  ];
}

function costRows(cost: Cost): Row[] {
  const what = `${cost.edges} edges, ${WRITES_PER_SECOND} writes a second`;
  const live = `${what}: accepted to live on every edge`;
  const at = (share: number): number => quantile(cost.propagation, share);
  return [
    { name: `${live}, p50`, value: at(0.5), unit: 'ms', ...NO_GOAL },
    {
      name: `${live}, p99`,
      value: at(0.99),
      unit: 'ms',
      baseline: null,
      goal: 1_000,
      goalIs: 'at most',
    },
    { name: `${live}, p99.9`, value: at(0.999), unit: 'ms', ...NO_GOAL },
    { name: `${what}: control, of one core`, value: cost.controlCpu, unit: '%', ...NO_GOAL },
    { name: `${what}: PostgreSQL, of one core`, value: cost.databaseCpu, unit: '%', ...NO_GOAL },
    {
      name: `${what}: the edges themselves, of one core`,
      value: cost.edgesCpu,
      unit: '%',
      ...NO_GOAL,
    },
    { name: `${what}: control's resident memory`, value: cost.controlMib, unit: 'MiB', ...NO_GOAL },
    { name: `${what}: NATS, for a write`, value: cost.natsKibPerWrite, unit: 'KiB', ...NO_GOAL },
  ];
}

const TIMES: readonly Line<Cost>[] = [
  { label: 'p50', colour: '#0b6', value: ({ propagation }) => quantile(propagation, 0.5) },
  { label: 'p99', colour: '#06c', value: ({ propagation }) => quantile(propagation, 0.99) },
  { label: 'p99.9', colour: '#c40', value: ({ propagation }) => quantile(propagation, 0.999) },
];
const USE: readonly Line<Cost>[] = [
  { label: 'control, % of a core', colour: '#06c', value: ({ controlCpu }) => controlCpu },
  { label: 'PostgreSQL, %', colour: '#0b6', value: ({ databaseCpu }) => databaseCpu },
  { label: 'NATS, KiB a write', colour: '#c40', value: ({ natsKibPerWrite }) => natsKibPerWrite },
];

function plot(costs: readonly Cost[]): string {
  const across = ({ edges }: Cost): number => edges;
  return drawing([
    panel(0, costs, across, TIMES, 'edges', 'ms to live'),
    panel(1, costs, across, USE, 'edges', `at ${WRITES_PER_SECOND} writes/s`),
  ]);
}
