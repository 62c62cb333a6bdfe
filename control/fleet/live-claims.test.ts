import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { sql } from 'kysely';
import { repeated } from '@portcullis/core/testing/repeated.ts';
import type { ControlSide } from '@portcullis/link/transport/transport.ts';
import type { Db } from '../db/database.ts';
import { lockRows } from '../db/locks.ts';
import { type Lifetime, testDatabase } from '../db/testing.ts';
import { saveBlocked } from '../firewall/blocked/store.ts';
import { Batch } from './batch.ts';
import { expireLeases, markLive, raiseUnconcerned } from './edges/store.ts';
import { currentGeneration } from './generations.ts';
import { loadBlockedSets } from './policies/blocked-sets.ts';
import { inSnapshot, loadPolicies } from './policies/policies.ts';
import { Announcer } from './sync/announcer.ts';
import { fakeSourceSets, serveEdges } from './test-edge.ts';
import { type Enforced, enforcedOf, KernelEdge } from './test-kernel.ts';
import {
  acceptRule,
  deleteRule,
  insertBaseline,
  insertEdge,
  insertHolding,
  insertOrganisation,
  liveGeneration,
} from './testing.ts';

const QUARTERS = [0, 64, 128, 192].map((first) => `203.0.113.${first}/26`);
const ALL = '203.0.113.0/24';
const ADDRESSES = [1, 65, 129, 193].map((last) => `203.0.113.${last}`);
const SERVED = [[0], [1], [0, 1], [2, 3], [0, 1, 2, 3]];
const EDGES = 3;
const REPLICAS = 2;
const LEASE_MS = 60_000;
const PATIENCE_MS = 60_000;
const TIMEOUT_MS = 600_000;
/** No other fleet begins after this time. */
const BEGIN_MS = 15_000;
/** So many fleets surely have an edge that is counted beyond what it confirmed. */
const MANY = 20;

type State = ReadonlyMap<string, Enforced>;

/** A fleet on two replicas, and what was accepted at each generation. */
class Fleet {
  readonly db: Db;
  readonly #scope: { readonly organisationId: number; readonly holdingId: number };
  readonly edges: KernelEdge[] = [];
  readonly #history = new Map<number, State>();
  /** Since which generation an edge serves a quarter: what it had before says nothing of it. */
  readonly #gained = new Map<string, number>();
  readonly replicas: ReturnType<typeof serveEdges>[];
  readonly #announcers: Announcer[];
  readonly #rules: number[] = [];
  readonly #failures: unknown[] = [];
  /** The generations that each replica has read, and has announced. */
  readonly #read: number[] = [];
  readonly #announced: number[] = [];
  #accepted = 0;
  #port = 1;
  /** How often an edge was counted beyond what it confirmed itself. */
  raised = 0;

  constructor(db: Db, organisationId: number, holdingId: number) {
    this.db = db;
    this.#scope = { organisationId, holdingId };
    this.replicas = Array.from({ length: REPLICAS }, () => serveEdges(db, { pageBytes: 400 }));
    const failed = (error: unknown): void => void this.#failures.push(error);
    this.#announcers = this.replicas.map(
      ({ sync, link }, at) =>
        new Announcer({
          db,
          link: this.#watched(link.control, at),
          loadSourceSets: fakeSourceSets,
          raise: async (names) => {
            if (await raiseUnconcerned(db, names)) await markLive(db);
            this.#announced[at] = this.#read[at] ?? 0;
          },
          noteSets: (generation, version) => {
            this.#read[at] = generation;
            sync.noteSets(generation, version);
          },
          failed,
        }),
    );
  }

  async begin(): Promise<void> {
    for (const place of ADDRESSES.keys()) await this.write(place);
    for (let at = 0; at < EDGES; at += 1) {
      const name = `edge${at}`;
      await insertEdge(
        this.db,
        name,
        (SERVED[at + 2] ?? []).map((one) => QUARTERS[one] ?? ''),
      );
      const edge = new KernelEdge(name, this.#link(at));
      this.edges.push(edge);
      await edge.sync();
    }
    await this.announceAll();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#announcers.map((one) => one.stop()));
    await Promise.all(this.edges.map((edge) => edge.close()));
    await Promise.all(this.replicas.map(({ link }) => link.control.close()));
    assert.deepEqual(this.#failures, []);
  }

  #link(replica: number) {
    const { link } = this.replicas[replica % REPLICAS] ?? assert.fail();
    return link;
  }

  move(edge: number, replica: number): Promise<void> {
    return this.#edge(edge).move(this.#link(replica));
  }

  #edge(at: number): KernelEdge {
    return this.edges[at] ?? assert.fail();
  }

  announce(replica: number): void {
    this.#announcers[replica % REPLICAS]?.announce();
  }

  /** A replica without edges has nothing to announce. */
  #watched(control: ControlSide, at: number): ControlSide {
    const admitted = (): ReadonlySet<string> => {
      const names = control.admitted('edge');
      if (names.size === 0) this.#announced[at] = this.#accepted;
      return names;
    };
    return Object.assign(Object.create(control) as ControlSide, { admitted });
  }

  /** Resolves when the edges of all replicas have been sent, or spared, everything. */
  async announceAll(): Promise<void> {
    const accepted = this.#accepted;
    const until = performance.now() + PATIENCE_MS;
    for (let at = 0; at < REPLICAS; at += 1) {
      this.announce(at);
      while ((this.#announced[at] ?? 0) < accepted) {
        assert.ok(performance.now() < until, 'a generation is not announced');
        await delay(1);
      }
    }
  }

  /** Reads what is accepted at the present generation. One write at a time. */
  async note(): Promise<void> {
    const { policies, sets } = await inSnapshot(this.db, async (tx) => ({
      policies: (await loadPolicies(tx, 'all')).policies,
      sets: await loadBlockedSets(tx, null, null),
    }));
    const state = policies.map((policy) => [policy.target, enforcedOf(policy, sets)] as const);
    this.#accepted = await currentGeneration(this.db);
    this.#history.set(this.#accepted, new Map(state));
  }

  async write(place: number): Promise<void> {
    this.#port += 1;
    const ip = ADDRESSES[place];
    if (ip === undefined) await insertBaseline(this.db, targetOf(place), this.#port);
    else
      this.#rules.push(
        (await acceptRule(this.db, this.#scope.holdingId, ip, { port: this.#port })).id,
      );
    await this.note();
  }

  async undo(): Promise<void> {
    const id = this.#rules.pop();
    if (id !== undefined) await deleteRule(this.db, id);
    await this.note();
  }

  /** One generation that blocks a source at both: where others are blocked already, it names no target. */
  async block(...places: readonly number[]): Promise<void> {
    this.#port += 1;
    const sources = [`198.18.${this.#port % 256}.0/24`];
    await this.#batch(async (batch) => {
      for (const place of new Set(places)) {
        const scope = { ...this.#scope, target: ADDRESSES[place] ?? assert.fail() };
        await saveBlocked(batch, scope, { sources, note: '', expires: null });
      }
    });
  }

  /** An operator changes the prefixes of an edge; see the kind of edges. */
  async serve(at: number, wanted: readonly number[]): Promise<void> {
    const { name } = this.#edge(at);
    const serves = wanted.map((one) => QUARTERS[one] ?? '');
    await this.#batch(async (batch) => {
      const { rows } = await sql<{ id: number; serves: string[] }>`
        select id, serves::text[] as serves from edges where name = ${name}`.execute(batch.tx);
      const [{ id, serves: was } = assert.fail()] = rows;
      await lockRows(batch.tx, 'edges', [id], 'update');
      await sql`update edges set serves = ${serves}::cidr[] where id = ${id}`.execute(batch.tx);
      batch.mark();
      const gained = serves.filter((one) => !was.includes(one));
      batch.touch(...gained, ...was.filter((one) => !serves.includes(one)));
      const next = (await currentGeneration(batch.tx)) + 1;
      for (const one of gained) this.#gained.set(`${name} ${one}`, next);
    });
  }

  async #batch(change: (batch: Batch) => void | Promise<void>): Promise<void> {
    await this.db.transaction().execute(async (tx) => {
      const batch = new Batch(tx, 'portal');
      await change(batch);
      await batch.takeGeneration('test');
    });
    await this.note();
  }

  /** Only the last generations are kept, with their changes. */
  async prune(kept: number): Promise<void> {
    const until = this.#accepted - kept;
    await sql`delete from generations where generation <= ${until}`.execute(this.db);
  }

  async silence(at: number): Promise<void> {
    const { name } = this.#edge(at);
    await sql`
      update edges set last_seen_at = now() - interval '2 minutes' where name = ${name}`.execute(
      this.db,
    );
    await expireLeases(this.db, LEASE_MS);
    await markLive(this.db);
  }

  /** Each address is, on every edge that counts for it, as it was at the generation that reads show or later. */
  async check(): Promise<void> {
    for (const [at, ip] of ADDRESSES.entries()) {
      // In one statement: announcers raise meanwhile.
      const { rows } = await sql<{ name: string; live: number; confirmed: number; own: number }>`
        select name, live_generation(${ip}::inet) as live, confirmed_generation as confirmed, own_generation as own
          from edges
         where in_service and exists (select from unnest(serves) s where s >>= ${ip}::inet)`.execute(
        this.db,
      );
      for (const { name, live, confirmed, own } of rows) {
        // Nothing is claimed: an edge has nothing of it.
        if (live === 0) continue;
        if (confirmed < (this.#gained.get(`${name} ${QUARTERS[at]}`) ?? 0)) continue;
        if (confirmed > own) this.raised += 1;
        const { kernel } = this.edges.find((edge) => edge.name === name) ?? assert.fail();
        const has = effective(kernel, at);
        const isTrue = [...this.#history].some(
          ([generation, state]) =>
            generation >= live && isDeepStrictEqual(effective(state, at), has),
        );
        const claim = `${ip} is live at ${live} by ${name}, which confirmed ${own} and counts for ${confirmed}`;
        assert.ok(isTrue, claim);
      }
    }
  }

  /** Everything becomes live without refusals, and with every notice. */
  async settle(): Promise<void> {
    for (const edge of this.edges) {
      await edge.heal();
      await edge.sync();
      await edge.sync();
    }
    const until = performance.now() + PATIENCE_MS;
    const accepted = this.#accepted;
    for (;;) {
      for (let replica = 0; replica < REPLICAS; replica += 1) this.announce(replica);
      const live = await Promise.all(ADDRESSES.map((ip) => liveGeneration(this.db, ip)));
      if (live.every((one) => one === accepted)) return;
      assert.ok(performance.now() < until, `live is ${live.join()} of ${accepted}`);
      await delay(5);
    }
  }
}

/** The policy that decides for the address of this quarter. */
function effective(state: State, quarter: number): Enforced | undefined {
  const [ip = '', prefix = ''] = [ADDRESSES[quarter], QUARTERS[quarter]];
  return state.get(ip) ?? state.get(prefix) ?? state.get(ALL);
}

const edge = fc.nat(EDGES - 1);
const replica = fc.nat(REPLICAS - 1);
const place = fc.nat(ADDRESSES.length + QUARTERS.length);
const address = fc.nat(ADDRESSES.length - 1);
const targetOf = (drawn: number): string =>
  ADDRESSES[drawn] ?? QUARTERS[drawn - ADDRESSES.length] ?? ALL;
const nothing = fc.constant(0);

type Step = (fleet: Fleet, a: number, b: number) => unknown;
const at = (fleet: Fleet, one: number): KernelEdge => fleet.edges[one] ?? assert.fail();
const STEPS: Readonly<
  Record<string, readonly [number, fc.Arbitrary<number>, fc.Arbitrary<number>, Step]>
> = {
  write: [8, place, nothing, (fleet, one) => fleet.write(one)],
  undo: [2, nothing, nothing, (fleet) => fleet.undo()],
  block: [4, address, address, (fleet, one, two) => fleet.block(one, two)],
  announce: [6, replica, nothing, (fleet, one) => fleet.announce(one)],
  announceAll: [8, nothing, nothing, (fleet) => fleet.announceAll()],
  deliver: [9, edge, nothing, (fleet, one) => at(fleet, one).deliver()],
  lose: [3, edge, nothing, (fleet, one) => at(fleet, one).lose()],
  sync: [3, edge, place, (fleet, one, two) => at(fleet, one).sync(() => fleet.write(two))],
  refuse: [2, edge, place, (fleet, one, two) => at(fleet, one).refuse(targetOf(two))],
  forget: [3, edge, place, (fleet, one, two) => at(fleet, one).forget(targetOf(two))],
  heal: [1, edge, nothing, (fleet, one) => at(fleet, one).heal()],
  restart: [1, edge, nothing, (fleet, one) => at(fleet, one).restart()],
  move: [1, edge, replica, (fleet, one, two) => fleet.move(one, two)],
  prune: [1, fc.nat(6), nothing, (fleet, kept) => fleet.prune(kept)],
  silence: [1, edge, nothing, (fleet, one) => fleet.silence(one)],
  serve: [
    2,
    edge,
    fc.nat(SERVED.length - 1),
    (fleet, one, two) => fleet.serve(one, SERVED[two] ?? []),
  ],
};

const step = fc.oneof(
  ...Object.entries(STEPS).map(([name, [weight, one, two]]) => ({
    weight,
    arbitrary: fc.tuple(fc.constant(name), one, two),
  })),
);

async function newFleet(run: Lifetime): Promise<Fleet> {
  const { db } = await testDatabase(run);
  const org = await insertOrganisation(db, 'org');
  const holding = await insertHolding(db, org, ALL);
  const fleet = new Fleet(db, org, holding);
  await fleet.begin();
  return fleet;
}

test('nothing is called live that an edge lacks, whatever comes in between', {
  timeout: TIMEOUT_MS,
}, async (t) => {
  const runs = repeated(5);
  const until = performance.now() + repeated(BEGIN_MS);
  let done = 0;
  let raised = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (steps) => {
      // A busy machine tries fewer fleets.
      if (performance.now() > until) return;
      const run = new AbortController();
      const fleet = await newFleet({ name: 'a fleet', signal: run.signal });
      try {
        for (const [name, one, two] of steps) {
          await STEPS[name]?.[3](fleet, one, two);
          await fleet.check();
        }
        await fleet.settle();
        await fleet.check();
        raised += fleet.raised;
        done += 1;
      } finally {
        await fleet.stop();
        run.abort();
      }
    }),
    { numRuns: runs, endOnFailure: true },
  );
  assert.ok(done > 0);
  t.diagnostic(`${done} fleets of ${runs}, ${raised} claims by raised generations`);
  if (done > MANY) assert.ok(raised > 0, 'no edge was counted beyond what it confirmed');
});
