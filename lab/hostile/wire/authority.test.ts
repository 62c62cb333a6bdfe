import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sql } from 'kysely';
import { AgentScopes } from '@portcullis/control/agents/scope.ts';
import { createCollectors } from '@portcullis/control/attacks/collectors/index.ts';
import { type Db } from '@portcullis/control/db/database.ts';
import { testDatabase } from '@portcullis/control/db/testing.ts';
import { TestEdge, serveEdges } from '@portcullis/control/fleet/test-edge.ts';
import {
  acceptRule,
  insertEdge,
  insertHolding,
  insertOrganisation,
  liveGeneration,
} from '@portcullis/control/fleet/testing.ts';
import {
  activeKinds,
  respondTo,
} from '@portcullis/control/attacks/response/mitigations/testing.ts';
import { createDetectionService } from '@portcullis/control/attacks/detection/watch/agent-requests.ts';
import {
  floodSample,
  silentWatchEvents,
  TestWatch,
} from '@portcullis/control/attacks/detection/watch/testing.ts';
import { loadServingEdges } from '@portcullis/control/firewall/held-store.ts';
import { createLogger } from '@portcullis/control/log.ts';
import { createRegistry } from '@portcullis/control/http/server/metrics.ts';
import { MAX_REFUSED_TARGETS } from '@portcullis/link/messages/edge.ts';
import type { AgentRef, AgentRequest, ControlReply } from '@portcullis/link/messages/messages.ts';

const EVIL: AgentRef = { kind: 'edge', name: 'evil' };
const FLOWS: AgentRef = { kind: 'collector', name: 'flows' };
const TEXT = '<b>Call +1-555-EVIL</b>';

/** acme holds 203.0.113.0/24 and 2001:db8::/48, other 198.18.0.0/24; evil serves acme's alone, and is in service. */
async function start(t: TestContext) {
  const { db } = await testDatabase(t);
  const acme = await insertOrganisation(db, 'acme');
  const other = await insertOrganisation(db, 'other');
  const own = await insertHolding(db, acme, '203.0.113.0/24');
  await insertHolding(db, acme, '2001:db8::/48');
  const foreign = await insertHolding(db, other, '198.18.0.0/24');
  await insertEdge(db, 'evil', ['203.0.113.0/25', '2001:db8::/48']);
  await insertEdge(db, 'honest');
  const { link, handler } = serveEdges(db);
  const evil = new TestEdge(link, 'evil', 'e');
  const honest = new TestEdge(link, 'honest', 'h');
  const write = async (): Promise<number> => {
    await acceptRule(db, own, '203.0.113.7', { port: ++port });
    return (await acceptRule(db, foreign, '198.18.0.7', { port })).generation;
  };
  let port = 1;
  await write();
  for (const edge of [evil, honest]) await edge.join();
  return { db, acme, other, evil, honest, handler, write };
}

test('an edge that refuses addresses outside what it serves holds back nobody, and tells nobody anything', async (t) => {
  const { db, evil, honest, write } = await start(t);
  const generation = await write();
  const outside = ['198.18.0.7', '198.18.0.0/24', '203.0.113.200', '2001:db9::1', '8.8.8.8'];
  await evil.confirm(
    generation,
    outside.map((target) => ({ target, reason: TEXT, goodGeneration: 0 })),
  );
  await honest.confirm(generation);
  assert.equal(await liveGeneration(db, '198.18.0.7'), generation);
  assert.deepEqual(await db.selectFrom('edge_refusals').selectAll().execute(), []);
  assert.deepEqual(await failures(db), []);
});

test('refusals are one event for an organisation and generation, without a word of the edge', async (t) => {
  const { db, evil, write, acme } = await start(t);
  for (let round = 1; round <= 2; round += 1) {
    const generation = await write();
    for (let again = 0; again < 3; again += 1) {
      // Each time others, so that each is refused anew.
      const refused = Array.from({ length: 1_000 }, (_, index) => ({
        target: `2001:db8:0:${again}::${(index + 1).toString(16)}`,
        reason: TEXT,
        goodGeneration: 0,
      }));
      await evil.confirm(generation, refused);
    }
    const events = await failures(db);
    assert.equal(events.length, round);
    assert.deepEqual(
      [events.at(-1)?.organisation_id, events.at(-1)?.data['addresses']],
      [acme, 1_000],
    );
  }
  const { rows } = await sql<{ found: number }>`
    select count(*)::integer as found from events where data::text like '%EVIL%'`.execute(db);
  assert.equal(rows[0]?.found, 0);
});

test('a caller reads that an edge refused an address, and no word of the edge', async (t) => {
  const { db, evil, write } = await start(t);
  const refused = { target: '203.0.113.7', reason: TEXT, goodGeneration: 0 };
  await evil.confirm(await write(), [refused]);
  const shown = (await loadServingEdges(db, '203.0.113.7')).find(({ name }) => name === 'evil');
  assert.match(shown?.refused ?? '', /could not apply/);
  assert.doesNotMatch(JSON.stringify(shown), /EVIL/);
});

test('a confirmation that names more addresses than control records counts for nothing', async (t) => {
  const { db, handler, write, evil } = await start(t);
  const generation = await write();
  const refused = Array.from({ length: MAX_REFUSED_TARGETS + 1 }, (_, index) => ({
    target: `2001:db8::${(index + 1).toString(16)}`,
    reason: TEXT,
    goodGeneration: 0,
  }));
  const request = { kind: 'edge.confirm', instance: 'e', generation, refused } as const;
  const reply = await handler(EVIL, request);
  assert.equal(reply.kind === 'refused' && reply.code, 'unavailable');
  assert.ok((await confirmedOf(db, 'evil')) < generation);
  await evil.confirm(generation);
  assert.equal(await confirmedOf(db, 'evil'), generation);
});

test('a collector reports of the destinations of its exporters, and an attack on others is not invented', async (t) => {
  const { db } = await start(t);
  await insertCollector(db, [{ ip: '192.0.2.1', samplingRate: 1, prefixes: ['203.0.113.0/24'] }]);
  const { report, subjects } = await watching(db);
  await report(40, { '198.18.0.5': 2_000_000, '203.0.113.9': 90_000 });
  assert.deepEqual(await subjects(), ['203.0.113.9/32']);
});

test('a collector does not report a prefix of which its exporters carry a part', async (t) => {
  const { db } = await start(t);
  await insertCollector(db, [{ ip: '192.0.2.1', samplingRate: 1, prefixes: ['198.18.0.0/28'] }]);
  const bound = await new AgentScopes(db).bind(FLOWS, samples(['198.18.0.0/24', '198.18.0.0/28']));
  const kept = bound?.request.kind === 'watch.samples' ? bound.request.samples : [];
  assert.deepEqual(
    kept.flatMap(({ prefixes }) => prefixes.map(({ subject }) => subject)),
    ['198.18.0.0/28'],
  );
  assert.deepEqual(bound?.outside, { count: 1, examples: ['198.18.0.0/24'] });
});

test('only the word all lets a collector report of everything, and the database knows no exporter without a word', async (t) => {
  const { db } = await start(t);
  for (const exporter of [{ ip: '192.0.2.1' }, { ip: '192.0.2.1', prefixes: null }]) {
    await assert.rejects(insertCollector(db, [exporter]), /collectors_exporters_prefixes/);
  }
  await insertCollector(db, [{ ip: '192.0.2.1', samplingRate: 1, prefixes: 'all' }]);
  const { report, subjects } = await watching(db);
  await report(40, { '198.18.0.5': 90_000 });
  assert.deepEqual(await subjects(), ['198.18.0.5/32']);
});

test('exporters without prefixes of version 0.1 are believed of all after the migration, by that word', async (t) => {
  const { db } = await start(t);
  await sql`alter table collectors drop constraint collectors_exporters_prefixes`.execute(db);
  await insertCollector(db, [
    { ip: '192.0.2.1', samplingRate: 1 },
    { ip: '192.0.2.2', samplingRate: null, prefixes: null },
    { ip: '192.0.2.3', samplingRate: null, prefixes: ['203.0.113.0/24'] },
  ]);
  const { readFile } = await import('node:fs/promises');
  const file = import.meta.resolve('@portcullis/control/db/migrations/0003-wire.sql');
  const [update = '', constraint = ''] = (await readFile(new URL(file), 'utf8')).split(';');
  await sql.raw(update).execute(db);
  await sql.raw(constraint).execute(db);
  const row = await db.selectFrom('collectors').select('exporters').executeTakeFirstOrThrow();
  assert.deepEqual(
    row.exporters.map(({ prefixes }) => prefixes),
    ['all', 'all', ['203.0.113.0/24']],
  );
});

const VICTIM = '203.0.113.9';

test('an attack that exports alone claim is only observed while an edge of the site that serves it counts none, and stays so when they fall silent', async (t) => {
  const { db } = await start(t);
  await insertCollector(db, [{ ip: '192.0.2.1', samplingRate: 1, prefixes: 'all' }]);
  const { report, watch } = await watching(db);
  await report(20, { [VICTIM]: 90_000 }, { honest: 100 });
  const opened = watch.received.find(({ kind }) => kind === 'opened');
  assert.ok(opened !== undefined, 'it is recorded');
  for (const received of watch.received) await respondTo(db, received);
  assert.deepEqual(modesOf(await activeKinds(db, opened.attackId)), ['observe']);

  await report(20, {}, { honest: 100 });
  for (const received of watch.received) await respondTo(db, received);
  assert.deepEqual(modesOf(await activeKinds(db, opened.attackId)), ['observe']);

  // An edge counts it now, so it is enforced; and it stays so when a blackhole keeps it from the edge.
  await report(20, { [VICTIM]: 90_000 }, { honest: 90_000 });
  for (const received of watch.received.splice(0)) await respondTo(db, received);
  assert.deepEqual(modesOf(await activeKinds(db, opened.attackId)), ['enforce']);
  await report(40, { [VICTIM]: 90_000 }, { honest: 0 });
  for (const received of watch.received) await respondTo(db, received);
  assert.deepEqual(modesOf(await activeKinds(db, opened.attackId)), ['enforce']);
});

test('exports are believed at once where no edge of their site could count the attack', async (t) => {
  const { db } = await start(t);
  await insertCollector(db, [{ ip: '192.0.2.1', samplingRate: 1, prefixes: 'all' }]);
  await sql`update edges set serves = '{198.51.100.0/24}' where name = 'honest'`.execute(db);
  const { report, watch } = await watching(db);
  await report(20, { [VICTIM]: 90_000 }, { honest: 0 });
  const [opened] = watch.received;
  assert.ok(opened !== undefined);
  for (const received of watch.received) await respondTo(db, received);
  assert.deepEqual(modesOf(await activeKinds(db, opened.attackId)), ['enforce']);
});

function modesOf(kinds: readonly string[]): string[] {
  return [...new Set(kinds.map((kind) => kind.split(' ')[0] ?? ''))];
}

async function failures(db: Db) {
  return db
    .selectFrom('events')
    .select(['organisation_id', 'data'])
    .where('kind', '=', 'propagation.failed')
    .orderBy('id')
    .execute();
}

async function confirmedOf(db: Db, name: string): Promise<number> {
  const row = await db
    .selectFrom('edges')
    .select('confirmed_generation')
    .where('name', '=', name)
    .executeTakeFirstOrThrow();
  return row.confirmed_generation;
}

async function insertCollector(db: Db, exporters: readonly object[]): Promise<void> {
  await sql`
    insert into collectors (name, listen, exporters, site, owner)
    values ('flows', '0.0.0.0:6343', ${JSON.stringify(exporters)}::jsonb, 'site', 'fleet')`.execute(
    db,
  );
}

function samples(subjects: readonly string[]) {
  const { addresses, ...sample } = floodSample(
    1,
    Object.fromEntries(subjects.map((one) => [one, 1])),
  );
  const prefixes = addresses.map((one) => ({ ...one, prefix: null }));
  return {
    kind: 'watch.samples',
    instance: 'i',
    sequence: 1,
    atMs: 1,
    samples: [{ ...sample, addresses: [], prefixes, tops: [] }],
  } as const;
}

/** A collector that has said hello, in front of a detector. */
async function watching(db: Db) {
  const watch = new TestWatch(db, Date.now());
  await watch.scopes.load();
  const detection = createDetectionService({
    db,
    scopes: watch.scopes,
    leader: watch.evaluate,
    events: silentWatchEvents(),
  });
  const { agentHandler } = createCollectors({
    db,
    registry: createRegistry(),
    log: createLogger({ level: 'silent' }),
    watch: detection,
  });
  const send = (request: AgentRequest): Promise<ControlReply> => agentHandler(FLOWS, request);
  await send({ kind: 'collector.hello', protocolVersion: 1, instance: 'i' });
  let sequence = 0;
  return {
    watch,
    /** The comparison of what the collector reports, and what an edge counts of the victim meanwhile. */
    async report(
      buckets: number,
      rates: Readonly<Record<string, number>>,
      counted: Readonly<Record<string, number>> = {},
    ): Promise<void> {
      for (let bucket = 0; bucket < buckets; bucket += 1) {
        sequence += 1;
        watch.nowMs += 250;
        for (const [name, pps] of Object.entries(counted)) {
          const sample = floodSample(watch.nowMs, pps === 0 ? {} : { [VICTIM]: pps });
          const message = { kind: 'watch.samples', instance: 'i', sequence } as const;
          watch.host.accept({ kind: 'edge', name }, 'site', {
            ...message,
            atMs: watch.nowMs,
            samples: [sample],
          });
        }
        const sample = floodSample(watch.nowMs, rates);
        // Its prefix is one of its own, or none is said.
        const addresses = sample.addresses.map((one) => ({ ...one, prefix: null }));
        const message = { sequence, atMs: watch.nowMs, samples: [{ ...sample, addresses }] };
        const reply = await send({ kind: 'watch.samples', instance: 'i', ...message });
        assert.deepEqual(reply, { kind: 'done' });
      }
      await watch.recorder.settled();
    },
    async subjects(): Promise<string[]> {
      const { rows } = await sql<{ subject: string }>`
        select subject::text from attacks where until_revision = 9223372036854775807
         order by subject`.execute(db);
      return rows.map(({ subject }) => subject);
    },
  };
}
