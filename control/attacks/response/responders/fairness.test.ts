import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Db } from '../../../db/database.ts';
import type { ResponderSpec } from '../../../db/schema.ts';
import { testDatabase } from '../../../db/testing.ts';
import { insertHolding, insertOrganisation } from '../../../fleet/testing.ts';
import { recordOngoing, respondToAll } from '../mitigations/testing.ts';
import type { CallBody } from './call.ts';
import { startCalls } from './calls.ts';

const HANGS_SECONDS = 600;

/** A real server that never answers requests selected by `hangs`. */
async function webhook(t: TestContext, hangs: (body: CallBody) => boolean) {
  const reported: string[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const body = JSON.parse(text) as CallBody;
      reported.push(body.attack.target);
      if (!hangs(body)) response.end('ok');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const call = { kind: 'webhook', url: `http://127.0.0.1:${port}/`, secret: null } as const;
  return { call, reported };
}

async function addResponder(
  db: Db,
  name: string,
  call: ResponderSpec['call'],
  timeoutSeconds = HANGS_SECONDS,
): Promise<void> {
  const spec = {
    call,
    prefixes: null,
    pps: null,
    mbps: null,
    timeoutSeconds,
    expiresSeconds: 3600,
  };
  await sql`insert into responders (name, spec, owner)
            values (${name}, ${JSON.stringify(spec)}::jsonb, 'fleet')`.execute(db);
}

/** Organisations with this number of attacks each, in this order; 10.N.0.x belongs to the Nth. */
async function attack(db: Db, organisation: number, count: number): Promise<void> {
  const id = await insertOrganisation(db, `org${organisation}`);
  await insertHolding(db, id, `10.${organisation}.0.0/24`);
  const received = [];
  for (let last = 1; last <= count; last++) {
    received.push(await recordOngoing(db, `10.${organisation}.0.${last}`, 'udp_flood'));
  }
  await respondToAll(db, received);
}

async function until(db: Db, responder: string, succeeded: number): Promise<void> {
  for (let looks = 0; ; looks++) {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from responder_calls c join responder_runs r on r.id = c.run_id
       where r.responder = ${responder} and c.succeeded`.execute(db);
    if (rows[0]?.count === succeeded) return;
    assert.ok(looks < 1_200, `${rows[0]?.count} of ${succeeded} calls of ${responder}`);
    await delay(50);
  }
}

function start(t: TestContext, db: Db): void {
  const events = { called: () => {}, failed: (what: string) => assert.fail(what) };
  const calls = startCalls({ db, events, everyMs: 20 });
  t.after(() => calls.stop());
}

test('a hanging webhook or command does not delay other responders', async (t) => {
  const { db } = await testDatabase(t);
  const silent = await webhook(t, () => true);
  const works = await webhook(t, () => false);
  // By name they come before the working one.
  await addResponder(db, 'a-silent', silent.call);
  await addResponder(db, 'b-endless', {
    kind: 'command',
    command: ['/bin/sleep', String(HANGS_SECONDS)],
  });
  await addResponder(db, 'c-works', works.call);
  await attack(db, 1, 40);
  start(t, db);
  await until(db, 'c-works', 40);
  // The hanging one is not called too often either.
  assert.equal(silent.reported.length, 4);
});

test('hanging calls of an organisation do not delay those of others, also at the same responder', async (t) => {
  const { db } = await testDatabase(t);
  const hook = await webhook(t, ({ attack: { target } }) => target.startsWith('10.1.'));
  await addResponder(db, 'hook', hook.call);
  await attack(db, 1, 40);
  await attack(db, 2, 20);
  start(t, db);
  await until(db, 'hook', 20);
  const [first, second] = [1, 2].map(
    (organisation) =>
      hook.reported.filter((target) => target.startsWith(`10.${organisation}.`)).length,
  );
  assert.deepEqual([first, second], [4, 20]);
});

test('an organisation with one attack is served before those with many get a second call, even if all calls hang', async (t) => {
  const { db } = await testDatabase(t);
  const hook = await webhook(t, ({ attack: { target } }) => !target.startsWith('10.20.'));
  // More than the concurrency limit, and each hangs until its timeout.
  await addResponder(db, 'hook', hook.call, 1);
  for (let organisation = 1; organisation <= 10; organisation++) await attack(db, organisation, 6);
  await attack(db, 20, 1);
  start(t, db);
  await until(db, 'hook', 1);
  const place = hook.reported.findIndex((target) => target.startsWith('10.20.'));
  assert.ok(place <= 16, `called in place ${place + 1}`);
});

test('several control planes together keep to the concurrency limit of a responder', async (t) => {
  const { db } = await testDatabase(t);
  const hook = await webhook(t, () => true);
  const works = await webhook(t, () => false);
  await addResponder(db, 'a-hangs', hook.call);
  await addResponder(db, 'b-works', works.call);
  for (let organisation = 1; organisation <= 3; organisation++) await attack(db, organisation, 6);
  for (let plane = 0; plane < 3; plane++) start(t, db);
  // By then each of them has looked for work often enough.
  await until(db, 'b-works', 18);
  await attack(db, 4, 6);
  await until(db, 'b-works', 24);
  assert.equal(hook.reported.length, 8);
  const of = (organisation: number): number =>
    hook.reported.filter((target) => target.startsWith(`10.${organisation}.`)).length;
  assert.ok([1, 2, 3].every((organisation) => of(organisation) <= 4));
});
