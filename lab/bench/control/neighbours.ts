import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { openDatabase } from '@portcullis/control/db/database.ts';
import { migrationUrl } from '@portcullis/control/db/embedded/roles.ts';
import { median } from '../measure.ts';
import type { Bench, Row } from '../report.ts';
import { ATTACKERS, type Attacker, type AttackedControl } from './attackers.ts';
import { type BenchFleet, fillFleet, makeKey } from './control-fixture.ts';
import { end, startControl } from './control-process.ts';
import { mustAnswer, ROUND_MS, startLoad } from './rounds.ts';

/** Quiet and beside the attacker in turn, so that what else the machine does meets both alike. */
const ROUNDS = 3;
const KEYS = 5;
/** The delay that an attacker may cost the others: so many times their quiet p99. */
const GOAL = 2;

/** The time that one organisation waits beside an attacker at full speed, for each attacker. */
export const neighboursBench: Bench = {
  name: 'neighbours',
  missing: () => null,
  async run(say) {
    const data = mkdtempSync(join(tmpdir(), 'portcullis-bench-'));
    const control = await startControl(data);
    try {
      const fleet = await fillFleet(control.databaseUrl);
      const attacking = await fillAttacker(control.databaseUrl);
      const ground = { ...attacking, data, port: control.port, databaseUrl: control.databaseUrl };
      const neighbour = new Neighbour(control.port, fleet);
      await neighbour.measure();
      const rows: Row[] = [];
      for (const attacker of ATTACKERS) {
        rows.push(...(await besideAttacker(say, neighbour, ground, attacker)));
      }
      return rows;
    } finally {
      await end(control.child);
      rmSync(data, { recursive: true, force: true });
    }
  },
};

async function fillAttacker(databaseUrl: string): Promise<Pick<AttackedControl, 'keys' | 'ip'>> {
  const db = openDatabase({ url: migrationUrl(databaseUrl), poolSize: 1 });
  try {
    const { id } = await db
      .insertInto('organisations')
      .values({ slug: 'attacker', name: 'Attacker', flags: ['firewall_api'], owner: 'portal' })
      .returning('id')
      .executeTakeFirstOrThrow();
    await sql`
      insert into holdings (organisation_id, cidr, during, owner)
      values (${id}, '198.51.100.0/24', tstzrange(now(), null), 'portal')`.execute(db);
    const keys: string[] = [];
    for (let n = 0; n < KEYS; n += 1) keys.push(await makeKey(db, id));
    return { keys, ip: '198.51.100.10' };
  } finally {
    await db.destroy();
  }
}

interface Waits {
  readonly readMs: number;
  readonly writeMs: number;
}

/** Another organisation, which reads on one connection and writes on another. */
class Neighbour {
  readonly #port: number;
  readonly #fleet: BenchFleet;
  #rules = 0;

  constructor(port: number, fleet: BenchFleet) {
    this.#port = port;
    this.#fleet = fleet;
  }

  /** The p99 of reads and of writes, while both come. */
  async measure(): Promise<Waits> {
    const load = { connections: 1, durationMs: ROUND_MS };
    const [reads, writes] = await Promise.all([
      startLoad(this.#port, this.#reads(), load),
      startLoad(this.#port, this.#writes(), load),
    ]);
    mustAnswer(reads, '200');
    mustAnswer(writes, '201');
    return { readMs: reads.p99Ms, writeMs: writes.p99Ms };
  }

  #reads(): string[] {
    return this.#fleet.addresses.map((ip) => `GET /api/v1/firewall/ips/${ip}${this.#head()}\r\n`);
  }

  #writes(): string[] {
    const { writeAddresses } = this.#fleet;
    return Array.from({ length: 2_000 }, (_, n) => {
      const port = 1 + ((this.#rules += 1) % 65_535);
      const body = JSON.stringify({
        action: 'deny',
        protocol: this.#rules > 65_535 ? 'tcp' : 'udp',
        destination_port: String(port),
      });
      const ip = writeAddresses[n % writeAddresses.length];
      return `POST /api/v1/firewall/ips/${ip}/rules${this.#head()}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    });
  }

  #head(): string {
    return ` HTTP/1.1\r\nHost: 127.0.0.1:${this.#port}\r\nAuthorization: Bearer ${this.#fleet.key}\r\n`;
  }
}

async function besideAttacker(
  say: (line: string) => void,
  neighbour: Neighbour,
  ground: AttackedControl,
  attacker: Attacker,
): Promise<Row[]> {
  const quiet: Waits[] = [];
  const beside: Waits[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    const alone = await neighbour.measure();
    // Longer than the measure, with what it takes to begin.
    const attack = attacker.attack(ground, 2 * ROUND_MS);
    const attacked = await neighbour.measure();
    const got = await attack;
    quiet.push(alone);
    beside.push(attacked);
    say(
      `${attacker.name}, round ${round}: read p99 ${attacked.readMs.toFixed(1)} ms, quiet ${alone.readMs.toFixed(1)}; write p99 ${attacked.writeMs.toFixed(1)} ms, quiet ${alone.writeMs.toFixed(1)}; it got ${got}`,
    );
  }
  const row = (what: string, of: (waits: Waits) => number): Row => ({
    name: `p99 of a ${what} of another organisation beside ${attacker.name} (baseline: quiet)`,
    value: median(beside.map(of)),
    unit: 'ms',
    baseline: median(quiet.map(of)),
    goal: GOAL,
    goalIs: 'at most',
  });
  return [row('read', ({ readMs }) => readMs), row('write', ({ writeMs }) => writeMs)];
}
