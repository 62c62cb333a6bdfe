import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { CollectorStatus } from '@portcullis/link/messages/collector.ts';
import type { AgentRequest } from '@portcullis/link/messages/messages.ts';
import type { Db } from '../../db/database.ts';
import type { DetectionService } from '../../agents/detection-service.ts';
import { testDatabase } from '../../db/testing.ts';
import { enrolAgent } from '../../agent-credential.ts';
import { createCollectors, loadCollectorStatuses } from './index.ts';

const FROM = { kind: 'collector', name: 'flows' } as const;
const ACTOR = { kind: 'operator', name: 'test', source: null, requestId: null } as const;
const STATUS: CollectorStatus = {
  listening: '0.0.0.0:6343',
  problem: null,
  bufferBytes: 1000,
  socketDrops: 3,
  unknownExporters: 2,
  outside: 1,
  exporters: [
    {
      ip: '192.0.2.1',
      heardAgoMs: 5,
      datagrams: 4,
      records: 9,
      lost: 1,
      malformed: 0,
      templates: 2,
      withoutTemplate: 0,
      templatesRefused: 4,
      withoutTraffic: 6,
      implausible: 7,
    },
  ],
};

function meet(db: Db) {
  const registry = new Registry();
  const taken: string[] = [];
  const take = async ({ kind }: AgentRequest) => {
    taken.push(kind);
    return { kind: 'done' } as const;
  };
  const watch: DetectionService = {
    settings: (_, request) => take(request),
    samples: (_, { request }) => take(request),
    attacks: (_, { request }) => take(request),
  };
  const collectors = createCollectors({ db, registry, log: pino({ level: 'silent' }), watch });
  return { ...collectors, registry, taken };
}

async function insertCollector(db: Db): Promise<void> {
  const exporters = JSON.stringify([
    { ip: '192.0.2.1', samplingRate: 1000, prefixes: 'all' },
    { ip: '192.0.2.2', samplingRate: null, prefixes: ['203.0.113.0/24', '198.51.100.1/32'] },
  ]);
  await sql`
    insert into collectors (name, listen, exporters, owner)
    values ('flows', '0.0.0.0:6343', ${exporters}::jsonb, 'fleet')`.execute(db);
}

const hello = (instance: string) =>
  ({ kind: 'collector.hello', protocolVersion: 1, instance }) as const;
const report = (instance: string) =>
  ({ kind: 'collector.report', instance, report: STATUS }) as const;
const samples = (instance: string) =>
  ({ kind: 'watch.samples', instance, sequence: 1, atMs: 1, samples: [] }) as const;

test('admits a collector only with its newest credential', async (t) => {
  const { db } = await testDatabase(t);
  const { admit } = meet(db);
  assert.equal((await admit(FROM, null)).ok, false);
  await insertCollector(db);
  assert.equal((await admit(FROM, null)).ok, false);
  const enrol = () =>
    db.transaction().execute((tx) => enrolAgent(tx, { kind: 'collector', name: 'flows' }, ACTOR));
  const first = await enrol();
  assert.deepEqual(await admit(FROM, first), { ok: true });
  assert.equal((await admit({ ...FROM, name: 'other' }, first)).ok, false);
  assert.equal((await admit({ kind: 'edge', name: 'flows' }, first)).ok, false);
  const second = await enrol();
  assert.equal((await admit(FROM, first)).ok, false);
  assert.deepEqual(await admit(FROM, second), { ok: true });
});

test('counts measurements only from the collector instance that said hello last', async (t) => {
  const { db } = await testDatabase(t);
  const { agentHandler, taken } = meet(db);
  const refusal = async (request: AgentRequest): Promise<string> => {
    const reply = await agentHandler(FROM, request);
    return reply.kind === 'refused' ? reply.code : reply.kind;
  };
  assert.equal(await refusal(hello('a')), 'unknown_agent');
  await insertCollector(db);
  assert.equal(await refusal(samples('a')), 'resync');
  const welcome = await agentHandler(FROM, hello('a'));
  assert.deepEqual(welcome.kind === 'collector.welcome' && welcome.settings, {
    listen: '0.0.0.0:6343',
    exporters: [
      { ip: '192.0.2.1', samplingRate: 1000, prefixes: null },
      { ip: '192.0.2.2', samplingRate: null, prefixes: ['203.0.113.0/24', '198.51.100.1'] },
    ],
  });
  assert.equal(await refusal(samples('a')), 'done');
  await agentHandler(FROM, hello('b'));
  assert.equal(await refusal(samples('a')), 'resync');
  assert.equal(await refusal(report('a')), 'resync');
  assert.equal(await refusal(report('b')), 'done');
  assert.deepEqual(taken, ['watch.samples']);
  const edges = await agentHandler(FROM, { kind: 'edge.confirm' } as unknown as AgentRequest);
  assert.equal(edges.kind, 'refused');
});

test('stores and shows the status of a collector, and ignores an unreadable one', async (t) => {
  const { db } = await testDatabase(t);
  const { agentHandler, registry } = meet(db);
  await insertCollector(db);
  const [unheard] = await loadCollectorStatuses(db);
  assert.deepEqual([unheard?.connected, unheard?.report, unheard?.listed], [false, null, 2]);
  await agentHandler(FROM, hello('a'));
  await agentHandler(FROM, report('a'));
  const [known] = await loadCollectorStatuses(db);
  assert.deepEqual([known?.connected, known?.report], [true, STATUS]);
  const shown = await registry.metrics();
  assert.match(shown, /portcullis_collector_socket_drops_total\{collector="flows"\} 3/);
  assert.match(shown, /portcullis_collector_exporters_heard\{collector="flows"\} 1/);
  assert.match(shown, /portcullis_collector_without_traffic_total\{collector="flows"\} 6/);
  assert.match(shown, /portcullis_collector_implausible_total\{collector="flows"\} 7/);
  // A collector of an older version does not count these.
  await sql`update collectors set report = report #- '{exporters,0,implausible}'`.execute(db);
  assert.equal((await loadCollectorStatuses(db))[0]?.report?.exporters[0]?.implausible, 0);
  await sql`update collectors set report = '{"listening": 7}'`.execute(db);
  assert.equal((await loadCollectorStatuses(db))[0]?.report, null);
});
