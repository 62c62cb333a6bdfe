import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
import { markLive } from './fleet/edges/store.ts';
import { insertEdge } from './fleet/testing.ts';
import { startEnvironment } from './testing/fixture.ts';
import { createTracing, openTracing } from './tracing.ts';
import { sql } from 'kysely';

test('a trace leads from the call of the API to the moment when every edge has it', async (t) => {
  const exporter = new InMemorySpanExporter();
  const tracing = await createTracing(new SimpleSpanProcessor({ exporter }));
  const { acme, db } = await startEnvironment(t, { tracing });
  const trace = '0af7651916cd43dd8448eb211c80319c';
  const rule = { action: 'deny', protocol: 'udp', destination_port: '80' };
  const path = '/api/v1/firewall/ips/203.0.113.10/rules';
  const made = await acme.post(path, rule, { traceparent: `00-${trace}-b7ad6b7169203331-01` });
  const generation = Number(made.headers.get('portcullis-generation'));
  // Another one that nobody else traces begins a trace of its own.
  await acme.post(path, { ...rule, destination_port: '81' });
  await insertEdge(db, 'fra1');
  await sql`update edges set confirmed_generation = ${generation + 1}, in_service = true`.execute(
    db,
  );
  tracing.live(await markLive(db));
  const spans = exporter.getFinishedSpans();
  const ours = spans.filter((span) => span.spanContext().traceId === trace);
  assert.deepEqual(
    ours.map(({ name }) => name),
    ['createRules', 'live on every edge'],
  );
  const [call, live] = ours;
  assert.equal(call?.parentSpanContext?.spanId, 'b7ad6b7169203331');
  assert.equal(live?.parentSpanContext?.spanId, call.spanContext().spanId);
  assert.equal(live.attributes['portcullis.generation'], generation);
  const others = new Set(spans.map((span) => span.spanContext().traceId));
  assert.equal(others.size, 2);
  assert.equal(await openTracing({}), null, 'off by default');
});
