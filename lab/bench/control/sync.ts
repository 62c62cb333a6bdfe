import { request } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { sql } from 'kysely';
import { enrolAgent } from '@portcullis/control/agent-credential.ts';
import { type Db, openDatabase } from '@portcullis/control/db/database.ts';
import { migrationUrl } from '@portcullis/control/db/embedded/roles.ts';
import { settingsOf, Subjects } from '../dataplane/subjects.ts';
import { quantile, residentMib } from '../measure.ts';
import type { Bench, Row } from '../report.ts';
import { missing } from '../../requirements.ts';
import { ADDRESSES, type BenchFleet, fillAddresses, fillFleet, RULES } from './control-fixture.ts';
import { end, startControl } from './control-process.ts';

const TIMEOUT_MS = 120_000;
const LOOK_MS = 20;
const IDLE_READS = 200;
const EDGE = 'bench';

/** A new edge fetches a million rules, while others read: when it is in service, and how long they wait. */
export const syncBench: Bench = {
  name: 'sync',
  missing: () => missing(['root', 'netns', 'nft', 'bpf', 'ethtool']),
  async run(say) {
    const data = mkdtempSync(join(tmpdir(), 'portcullis-bench-'));
    const control = await startControl(data);
    const db = openDatabase({ url: migrationUrl(control.databaseUrl), poolSize: 2 });
    const subjects = new Subjects('sync');
    try {
      const fleet = await fillFleet(control.databaseUrl);
      const settings = settingsOf('inbound');
      const credential = await fillMillion(db, settings.devices);
      say(`${ADDRESSES} addresses of ${RULES} rules are in the database`);
      const idle = new Reads(control.port, fleet);
      await idle.until(() => idle.waits.length >= IDLE_READS);
      const before = residentMib(control.child.pid);
      const reads = new Reads(control.port, fleet);
      let peak = before;
      const { namespace } = subjects.range.target();
      const config = {
        name: EDGE,
        linkPath: control.linkSocket,
        stateDir: join(data, 'edge'),
        mode: 'enforce',
        credential,
      };
      const edge = namespace.spawn(
        [process.execPath, join(root, 'edge', 'main.ts'), JSON.stringify(config)],
        {
          stdio: ['ignore', 'ignore', 'inherit'],
          env: { ...process.env, PORTCULLIS_LOG_LEVEL: 'error' },
        },
      );
      const joined = Promise.withResolvers<number>();
      const watch = inService(db);
      watch.then(joined.resolve, joined.reject);
      let done = false;
      void joined.promise.finally(() => (done = true)).catch(() => {});
      await reads.until(() => {
        peak = Math.max(peak, residentMib(control.child.pid));
        return done;
      });
      const ms = await joined.promise;
      await end(edge);
      say(`in service after ${Math.round(ms)} ms; ${reads.waits.length} reads meanwhile`);
      return rowsOf({ ms, idle: idle.waits, waits: reads.waits, grownMib: peak - before });
    } finally {
      await db.destroy();
      await end(control.child);
      await subjects.destroy();
      rmSync(data, { recursive: true, force: true });
    }
  },
};

function rowsOf(found: {
  readonly ms: number;
  readonly idle: readonly number[];
  readonly waits: readonly number[];
  readonly grownMib: number;
}): Row[] {
  const what = `${ADDRESSES.toLocaleString('en')} addresses x ${RULES} rules`;
  const upper = { goalIs: 'at most' } as const;
  return [
    {
      name: `${what}: hello of the edge to in service`,
      value: found.ms / 1000,
      unit: 's',
      baseline: null,
      goal: 15,
      ...upper,
    },
    {
      name: `${what}: longest read of the API meanwhile`,
      value: Math.max(...found.waits),
      unit: 'ms',
      baseline: null,
      goal: 500,
      ...upper,
    },
    {
      name: `${what}: median read of the API meanwhile (baseline: idle)`,
      value: quantile(found.waits, 0.5),
      unit: 'ms',
      baseline: quantile(found.idle, 0.5),
      goal: null,
    },
    {
      name: `${what}: p99 read of the API meanwhile`,
      value: quantile(found.waits, 0.99),
      unit: 'ms',
      baseline: null,
      goal: null,
    },
    {
      name: `${what}: growth of control's resident memory`,
      value: found.grownMib,
      unit: 'MiB',
      baseline: null,
      goal: 256,
      ...upper,
    },
  ];
}

/** Reads of an address, one after the other. */
class Reads {
  readonly waits: number[] = [];
  readonly #port: number;
  readonly #fleet: BenchFleet;

  constructor(port: number, fleet: BenchFleet) {
    this.#port = port;
    this.#fleet = fleet;
  }

  async until(isDone: () => boolean): Promise<void> {
    while (!isDone()) {
      const begin = performance.now();
      await this.#read(this.waits.length);
      this.waits.push(performance.now() - begin);
      await wait(LOOK_MS);
    }
  }

  #read(turn: number): Promise<void> {
    const { addresses, key } = this.#fleet;
    const path = `/api/v1/firewall/ips/${addresses[turn % addresses.length]}`;
    const headers = { authorization: `Bearer ${key}` };
    return new Promise((resolve, reject) => {
      request({ host: '127.0.0.1', port: this.#port, path, headers }, (response) => {
        response.resume().once('end', () => {
          if (response.statusCode === 200) resolve();
          else reject(new Error(`a read was answered ${response.statusCode}`));
        });
      })
        .once('error', reject)
        .end();
    });
  }
}

/** Milliseconds from the hello of the edge, both as the database sees them. */
async function inService(db: Db): Promise<number> {
  const deadline = performance.now() + TIMEOUT_MS;
  let hello: number | null = null;
  for (;;) {
    const { rows } = await sql<{ greeted: boolean; joined: boolean }>`
      select instance is not null as greeted, in_service as joined from edges where name = ${EDGE}`.execute(
      db,
    );
    const [edge] = rows;
    if (edge?.greeted === true) hello ??= performance.now();
    if (edge?.joined === true && hello !== null) return performance.now() - hello;
    if (performance.now() > deadline) throw new Error('the edge did not get into service');
    await wait(LOOK_MS);
  }
}

/** Rules of ten kinds to each address, and an edge that serves them. Returns its credential. */
async function fillMillion(db: Db, devices: readonly string[]): Promise<string> {
  await fillAddresses(db);
  await sql`
    insert into edges (name, site, devices, serves, sees, fragments, management, owner)
    values (${EDGE}, 'bench', ${devices}, '{0.0.0.0/0,::/0}', 'inbound', 'reassemble', '[]', 'portal')`.execute(
    db,
  );
  await sql`analyze`.execute(db);
  const operator = { kind: 'operator', name: 'bench', source: null, requestId: null } as const;
  const agent = { kind: 'edge', name: EDGE } as const;
  const credential = await db.transaction().execute((tx) => enrolAgent(tx, agent, operator));
  if (credential === null) throw new Error('the edge is not there');
  return credential;
}

const root = join(import.meta.dirname, '..', '..', '..');
