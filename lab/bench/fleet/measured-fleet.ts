import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { enrolAgent } from '@portcullis/control/agent-credential.ts';
import { type Db, openDatabase, type Tx } from '@portcullis/control/db/database.ts';
import { migrationUrl } from '@portcullis/control/db/embedded/roles.ts';
import {
  loadInstallation,
  type NatsInstallation,
  remoteCredential,
} from '@portcullis/control/nats/installation.ts';
import { formatCredential } from '@portcullis/link/credential.ts';
import { sql } from 'kysely';
import { Machines } from '../../stack/machines.ts';
import { fillAddresses } from '../control/control-fixture.ts';
import { residentMib } from '../measure.ts';
import { type MachineUse, ProcessorMeter } from '../processor-use.ts';
import { type FleetPlan, planProcesses, servedBy } from './plan.ts';
import type { SimulatedEdge } from './simulated-edges.ts';

/** Limits of waiting, on a machine that others load too: a part for any fleet, and a part for each edge. */
const LIMIT_MS = 600_000;
const LIMIT_PER_EDGE_MS = 120;
/** The log of an edge has this if its state cannot be written to its disk. */
const DISK_FAILS = 'the disk fails this edge';

/** The programs whose processor time is measured. */
export const PROGRAMS = [
  'control',
  'PostgreSQL',
  'NATS',
  'real edges',
  'simulated edges',
  'the bench itself',
] as const;
export type Program = (typeof PROGRAMS)[number];

/** Writes at a steady rate, until the last of them is live on every edge. */
export interface Window {
  readonly writes: number;
  /** Accepted to live on every edge, in milliseconds, of each generation. */
  readonly propagation: readonly number[];
  readonly use: MachineUse<Program>;
  readonly controlMib: number;
  readonly natsKibPerWrite: number;
}

export interface Idle {
  readonly use: MachineUse<Program>;
  readonly natsKibPerSecond: number;
}

export interface Start {
  readonly ms: number;
  /** Control's resident memory, the highest that was seen. */
  readonly controlMib: number;
}

interface Group {
  readonly edges: readonly SimulatedEdge[];
  child: ChildProcess | null;
}

/** A fleet of real edges and processes of simulated ones, with control, PostgreSQL and NATS. */
export class MeasuredFleet {
  readonly #plan: FleetPlan;
  readonly #machines: Machines;
  readonly #db: Db;
  /** A folder in memory: the disks of the simulated edges are not this host's. */
  readonly #memory = mkdtempSync('/dev/shm/portcullis-fleet-');
  /** Processes of simulated edges, by the size of the fleet that they end with. */
  readonly #groups: Group[][] = [];
  #written = 0;

  private constructor(plan: FleetPlan, machines: Machines) {
    this.#plan = plan;
    this.#machines = machines;
    this.#db = openDatabase({ url: migrationUrl(machines.databaseUrl), poolSize: 2 });
  }

  /** Everything but the edges runs, and the database has all addresses and edges. */
  static async start(plan: FleetPlan): Promise<MeasuredFleet> {
    const { real, disk } = plan;
    const machines = await Machines.start('benchfleet', { edges: real, disk });
    const fleet = new MeasuredFleet(plan, machines);
    try {
      await fleet.#fill();
      return fleet;
    } catch (error) {
      await fleet.stop();
      throw error;
    }
  }

  async #fill(): Promise<void> {
    const { real, addresses } = this.#plan;
    for (const name of real) await this.#machines.end(name, 'SIGKILL');
    await this.#db.updateTable('edges').set({ in_service: false, instance: null }).execute();
    await fillAddresses(this.#db, addresses);
    const nats = await loadInstallation(this.#db);
    if (nats === null) throw new Error('NATS is not set up');
    let index = 0;
    for (const processes of planProcesses(this.#plan.simulated)) {
      const groups: Group[] = [];
      for (const size of processes) {
        const indexes = Array.from({ length: size }, () => index++);
        const edges = await this.#db.transaction().execute(async (tx) => {
          const enrolled: SimulatedEdge[] = [];
          for (const one of indexes) enrolled.push(await this.#enrol(tx, nats, one));
          return enrolled;
        });
        groups.push({ edges, child: null });
      }
      this.#groups.push(groups);
    }
  }

  async #enrol(tx: Tx, nats: NatsInstallation, index: number): Promise<SimulatedEdge> {
    const name = `sim-${index}`;
    const serves = servedBy(this.#plan, index);
    const agent = { kind: 'edge', name } as const;
    const operator = { kind: 'operator', name: 'bench', source: null, requestId: null } as const;
    await sql`
      insert into edges (name, site, devices, serves, sees, fragments, management, owner)
      values (${name}, 'sim', '{ext0}', ${[serves]}::cidr[], 'both', 'limit', '[]', 'portal')`.execute(
      tx,
    );
    const secret = await enrolAgent(tx, agent, operator);
    if (secret === null) throw new Error(`${name} was not enrolled`);
    return { name, credential: formatCredential(remoteCredential(nats, agent, secret)) };
  }

  /** Starts every edge with nothing, and waits until all of them enforce everything that they serve. */
  async startAll(): Promise<Start> {
    const startMs = performance.now();
    for (const name of this.#plan.real) this.#machines.startEdge(name);
    for (const group of this.#groups.flat()) group.child = this.#launch(group.edges);
    let controlMib = 0;
    await this.#until('edges do not enforce', async () => {
      controlMib = Math.max(controlMib, residentMib(this.#machines.pidOf('control')));
      const { rows } = await sql<{ missing: number }>`
        select count(*)::int as missing from edges, fleet
         where not in_service or confirmed_generation < generation`.execute(this.#db);
      return rows[0]?.missing ?? 0;
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

  /** Ends the simulated edges that the next smaller fleet has not, which are then none of the fleet's. */
  async shrink(): Promise<void> {
    const ended = this.#groups.shift() ?? [];
    await Promise.all(ended.map(({ child }) => endAtOnce(child)));
    const names = ended.flatMap(({ edges }) => edges.map(({ name }) => name));
    await sql`delete from edges where name = any (${names}::text[])`.execute(this.#db);
  }

  get size(): number {
    const simulated = this.#groups.flat().reduce((sum, { edges }) => sum + edges.length, 0);
    return this.#plan.real.length + simulated;
  }

  /** Writes that are not measured: the first ones find caches and code cold. */
  async warmUp(): Promise<void> {
    await this.#write(this.#plan.warmUpWrites);
    await this.#untilLive();
  }

  /** Heartbeats and syncs that find nothing new, while nothing is written. */
  async measureIdle(): Promise<Idle> {
    const { use, natsKib } = await this.#metered(() => delay(this.#plan.idleMs));
    return { use, natsKibPerSecond: (natsKib * 1_000) / use.tookMs };
  }

  async measure(): Promise<Window> {
    const first = await this.#generation();
    const { writes } = this.#plan;
    const { use, natsKib } = await this.#metered(async () => {
      await this.#write(writes);
      await this.#untilLive();
    });
    const { rows } = await sql<{ ms: number }>`
      select extract(epoch from live_at - created_at)::float8 * 1000 as ms from generations
       where generation > ${first}`.execute(this.#db);
    this.#checkDisks();
    return {
      writes,
      propagation: rows.map(({ ms }) => ms),
      use,
      controlMib: residentMib(this.#machines.pidOf('control')),
      natsKibPerWrite: natsKib / writes,
    };
  }

  async #metered(
    work: () => Promise<unknown>,
  ): Promise<{ readonly use: MachineUse<Program>; readonly natsKib: number }> {
    const bytesBefore = this.#machines.natsBytes();
    const meter = this.#meter();
    let use: MachineUse<Program>;
    try {
      await work();
    } finally {
      use = meter.stop();
    }
    return { use, natsKib: (this.#machines.natsBytes() - bytesBefore) / 1024 };
  }

  #meter(): ProcessorMeter<Program> {
    const { real } = this.#plan;
    return new ProcessorMeter<Program>({
      control: [this.#machines.pidOf('control')],
      PostgreSQL: [this.#machines.postmasterPid],
      NATS: [this.#machines.pidOf('nats')],
      'real edges': real.map((name) => this.#machines.pidOf(name)),
      'simulated edges': this.#groups.flat().flatMap(({ child }) => child?.pid ?? []),
      'the bench itself': [process.pid],
    });
  }

  /** An edge whose disk is full writes its whole state again and again, which is no part of a fleet's work. */
  #checkDisks(): void {
    const failing = this.#plan.real.filter((name) =>
      this.#machines.logOf(name).includes(DISK_FAILS),
    );
    if (failing.length > 0)
      throw new Error(`the disk of ${failing.join(', ')} fails: give the edges a larger one`);
  }

  /** Creates rules at a steady rate, on addresses all over the fleet. */
  async #write(count: number): Promise<void> {
    const { addresses, writesPerSecond } = this.#plan;
    const running: Promise<void>[] = [];
    const startMs = performance.now();
    for (let write = 0; write < count; write += 1) {
      await delay(Math.max(0, startMs + (write * 1_000) / writesPerSecond - performance.now()));
      const n = 1 + ((this.#written * 7_919) % addresses);
      const ip = `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`;
      this.#written += 1;
      const port = String(1_000 + this.#written);
      const rule = { action: 'deny', protocol: 'tcp', destination_port: port };
      const path = `/api/v1/firewall/ips/${ip}/rules`;
      running.push(
        this.#machines.api.call('POST', path, rule).then(({ status, body }) => {
          if (status !== 201) throw new Error(`${ip}: ${status} ${JSON.stringify(body)}`);
        }),
      );
    }
    await Promise.all(running);
  }

  async #untilLive(): Promise<void> {
    await this.#until('generations are not live', async () => {
      const { rows } = await sql<{ waiting: number }>`
        select count(*)::int as waiting from generations where live_at is null`.execute(this.#db);
      return rows[0]?.waiting ?? 0;
    });
  }

  async #generation(): Promise<number> {
    const { generation } = await this.#db
      .selectFrom('fleet')
      .select('generation')
      .executeTakeFirstOrThrow();
    return generation;
  }

  /** Waits until none of these is left. */
  async #until(what: string, count: () => Promise<number>): Promise<void> {
    const ms = LIMIT_MS + this.size * LIMIT_PER_EDGE_MS;
    const deadline = performance.now() + ms;
    for (let left = await count(); left > 0; left = await count()) {
      if (performance.now() > deadline) throw new Error(`${left} ${what} after ${ms} ms`);
      await delay(100);
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#groups.flat().map(({ child }) => endAtOnce(child)));
    await this.#db.destroy();
    await this.#machines.stop();
    rmSync(this.#memory, { recursive: true, force: true });
  }
}

async function endAtOnce(child: ChildProcess | null): Promise<void> {
  if (child === null || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
