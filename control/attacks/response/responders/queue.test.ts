import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { sql } from 'kysely';
import { testDatabase } from '../../../db/testing.ts';
import { insertHolding, insertOrganisation } from '../../../fleet/testing.ts';
import { recordOngoing, respondToAll } from '../mitigations/testing.ts';
import { type CallsOptions, startCalls } from './calls.ts';

test('a result that comes after its lease neither changes the next attempt nor is reported as one', async (t) => {
  const { db } = await testDatabase(t);
  const requests: ServerResponse[] = [];
  const server = createServer((_, response) => {
    if (requests.push(response) === 2) response.end('second');
    server.emit('called');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const call = { kind: 'webhook', url, secret: null };
  const spec = { call, prefixes: null, pps: null, mbps: null, timeoutSeconds: 600 };
  await sql`insert into responders (name, spec, owner)
            values ('a', ${JSON.stringify({ ...spec, expiresSeconds: 3600 })}::jsonb, 'fleet')`.execute(
    db,
  );
  await insertHolding(db, await insertOrganisation(db, 'acme'), '10.1.0.0/24');
  await respondToAll(db, [await recordOngoing(db, '10.1.0.1', 'udp_flood')]);
  const process = (everyMs: number) => {
    const ended = Promise.withResolvers<unknown[]>();
    const events: CallsOptions['events'] = {
      called: (_, event, { output }, outcome) => ended.resolve([event, output, outcome]),
      failed: (what, error) => ended.reject(new Error(what, { cause: error })),
    };
    const calls = startCalls({ db, events, everyMs });
    t.after(() => calls.stop());
    return ended.promise;
  };
  const called = once(server, 'called');
  const slow = process(600_000);
  await called;
  await sql`update responder_calls set due_at = now(), claimed_until = now()`.execute(db);
  assert.deepEqual(await process(20), ['start', '200 second', 'settled']);
  const stored = async () => (await sql`select * from responder_calls`.execute(db)).rows;
  const settled = await stored();
  requests[0]?.writeHead(500).end('first');
  assert.deepEqual(await slow, ['start', '500 first', 'superseded']);
  assert.deepEqual(await stored(), settled);
});
