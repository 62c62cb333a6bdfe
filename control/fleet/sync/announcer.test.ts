import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { EdgeChanged } from '@portcullis/link/messages/edge.ts';
import type { AgentSide, ControlSide } from '@portcullis/link/transport/transport.ts';
import { sql } from 'kysely';
import { testDatabase } from '../../db/testing.ts';
import { fakeSourceSets, serveEdges } from '../test-edge.ts';
import { takeGeneration } from '../generations.ts';
import {
  acceptRule,
  assignGeo,
  insertEdge,
  insertHolding,
  insertOrganisation,
} from '../testing.ts';
import { Announcer } from './announcer.ts';

const HALVES = { low: '203.0.113.0/25', high: '203.0.113.128/25' } as const;

async function prepare(t: TestContext) {
  const { db } = await testDatabase(t);
  const org = await insertOrganisation(db, 'org');
  const holding = await insertHolding(db, org, '203.0.113.0/24');
  const { link } = serveEdges(db);
  const edges: Record<keyof typeof HALVES, Notices> = {
    low: new Notices(link.connect({ kind: 'edge', name: 'low' })),
    high: new Notices(link.connect({ kind: 'edge', name: 'high' })),
  };
  for (const [name, prefix] of Object.entries(HALVES)) await insertEdge(db, name, [prefix]);
  await Promise.all(Object.values(edges).map((edge) => edge.isConnected));
  const failed = (error: unknown): void => assert.fail(String(error));
  const away = new Away(link.control);
  const raised: string[][] = [];
  const raise = async (names: readonly string[]): Promise<void> =>
    void (names.length > 0 && raised.push(names.toSorted()));
  const options = { db, link: away.control, loadSourceSets: fakeSourceSets, raise, failed };
  const announcer = new Announcer(options);
  t.after(() => announcer.stop());
  return { db, org, holding, edges, announcer, away, raised };
}

/** A control side that has, for a while, no edges. */
class Away {
  readonly control: ControlSide;
  #looked: (() => void) | null = null;

  constructor(control: ControlSide) {
    const admitted = (): ReadonlySet<string> => {
      if (this.#looked === null) return control.admitted('edge');
      this.#looked();
      return new Set();
    };
    this.control = Object.assign(Object.create(control) as ControlSide, { admitted });
  }

  /** Announces without edges until that has been done with. */
  async announce(announcer: Announcer): Promise<void> {
    // The second look is of a later run than the first.
    for (let look = 0; look < 2; look += 1) {
      await new Promise<void>((resolve) => {
        this.#looked = resolve;
        announcer.announce();
      });
    }
    this.#looked = null;
  }
}

class Notices {
  readonly isConnected: Promise<void>;
  readonly #received: EdgeChanged[] = [];
  #arrived = Promise.withResolvers<void>();

  constructor(agent: AgentSide) {
    this.isConnected = new Promise((resolve) => agent.onConnect(resolve));
    agent.onNotice((notice) => {
      if (notice.kind === 'edge.changed') this.#received.push(notice);
      this.#arrived.resolve();
      this.#arrived = Promise.withResolvers();
    });
  }

  async next(): Promise<EdgeChanged['changes']> {
    while (this.#received.length === 0) await this.#arrived.promise;
    return this.#received.shift()?.changes ?? null;
  }
}

test('sends what changed to the edges that it concerns, and raises the others', async (t) => {
  const { db, holding, edges, announcer, raised } = await prepare(t);
  await acceptRule(db, holding, '203.0.113.200');
  announcer.announce();
  assert.equal(await edges.low.next(), null, 'what the edges have is not known yet');
  assert.equal(await edges.high.next(), null);
  await acceptRule(db, holding, '203.0.113.1');
  await acceptRule(db, holding, '203.0.113.2');
  announcer.announce();
  const low = await edges.low.next();
  assert.deepEqual([low?.after, low?.generation], [1, 3]);
  assert.deepEqual(low?.policies.map(({ target }) => target).toSorted(), [
    '203.0.113.1',
    '203.0.113.2',
  ]);
  assert.equal(low?.settings.name, 'low');
  await acceptRule(db, holding, '203.0.113.201');
  announcer.announce();
  const high = await edges.high.next();
  assert.deepEqual(raised[0], ['high']);
  assert.deepEqual([high?.after, high?.generation], [1, 4], 'it was sent nothing since');
  assert.deepEqual(
    high?.policies.map(({ target }) => target),
    ['203.0.113.201'],
  );
  await acceptRule(db, holding, '203.0.113.3');
  announcer.announce();
  const again = await edges.low.next();
  assert.deepEqual([again?.after, again?.generation], [3, 5]);
  assert.deepEqual(raised[1], ['low']);
});

test('sends every edge what no target names, or targets of both', async (t) => {
  const { db, org, holding, edges, announcer } = await prepare(t);
  await acceptRule(db, holding, '203.0.113.1');
  announcer.announce();
  await edges.low.next();
  await edges.high.next();
  const take = (targets: readonly string[], everywhere?: boolean) =>
    db
      .transaction()
      .execute((tx) =>
        takeGeneration(tx, { cause: 'test', targets, ...(everywhere && { everywhere }) }),
      );
  for (const write of [
    () => take([]),
    () => take(['203.0.113.1'], true),
    () => assignGeo(db, org, holding, ['203.0.113.0/24'], 'DE'),
  ]) {
    await write();
    announcer.announce();
    const [low, high] = [await edges.low.next(), await edges.high.next()];
    assert.ok(low !== null && high !== null);
    assert.deepEqual([low.after, low.generation], [high.after, high.generation]);
  }
});

test('sends the first change after edges came back as a change, whatever was written before', async (t) => {
  const { db, holding, edges, announcer, away } = await prepare(t);
  announcer.announce();
  await edges.low.next();
  await acceptRule(db, holding, '203.0.113.1');
  await away.announce(announcer);
  await acceptRule(db, holding, '203.0.113.2');
  announcer.announce();
  const changes = await edges.low.next();
  assert.deepEqual([changes?.after, changes?.generation], [1, 2]);
});

test('lets edges fetch what is larger than a message should be', async (t) => {
  const { db, holding, edges, announcer } = await prepare(t);
  announcer.announce();
  await edges.low.next();
  const { id, generation } = await acceptRule(db, holding, '203.0.113.1');
  await sql`
    insert into rules (address_id, action, protocol, port, created_generation)
    select address_id, action, 'udp', n, created_generation from rules, generate_series(1, 2500) n
     where id = ${id}`.execute(db);
  await acceptRule(db, holding, '203.0.113.2');
  announcer.announce();
  assert.equal(await edges.low.next(), null);
  await acceptRule(db, holding, '203.0.113.2', { port: 1 });
  announcer.announce();
  assert.equal((await edges.low.next())?.after, generation + 1);
});
