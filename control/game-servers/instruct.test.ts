import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { sql } from 'kysely';
import { assertRefused, dataOf, type TestClient, type TestReply } from '../testing/client.ts';
import { IMPATIENT, startEnvironment, type TestEnvironment } from '../testing/fixture.ts';
import { TestNode } from './testing/node.ts';
import { addNode, addServer, uuidOf } from './testing/servers.ts';

const SERVER = `/api/v1/game-servers/${uuidOf(1)}`;
const POWER = `${SERVER}/power`;
const COMMAND = `${SERVER}/command`;
const START = { signal: 'start' };
const key = (value: string) => ({ 'idempotency-key': value });

async function start(
  t: TestContext,
  overrides: Parameters<typeof startEnvironment>[1] = {},
): Promise<TestEnvironment & { readonly node: TestNode }> {
  const world = await startEnvironment(t, overrides);
  const credential = await addNode(world.db, 'node-1');
  await addServer(world.db, { number: 1 });
  await addServer(world.db, { number: 2, built: false });
  const node = await new TestNode(world.nodes, 'node-1', credential).join();
  t.after(() => node.link.close());
  return { ...world, node };
}

function acknowledged(reply: TestReply, status: number, message: string): void {
  assert.equal(reply.status, status, reply.text);
  assert.deepEqual(reply.body, { ok: status === 200, message });
  assert.match(reply.headers.get('content-type') ?? '', /^application\/json/);
}

interface Entry {
  readonly action: string;
  readonly detail: Readonly<Record<string, string>>;
  readonly times: number;
}

async function readActivity(acme: TestClient): Promise<Entry[]> {
  const entries = dataOf<Entry[]>(await acme.get(`/api/x1/game-servers/${uuidOf(1)}/activity`));
  return entries.map(({ action, detail, times }) => ({ action, detail, times }));
}

test('forwards instructions unchanged and answers 200 with ok and an empty message when the node accepts', async (t) => {
  const { acme, node } = await start(t);
  for (const signal of ['start', 'stop', 'restart', 'kill']) {
    acknowledged(await acme.post(POWER, { signal }), 200, '');
  }
  acknowledged(await acme.post(COMMAND, { command: ' say Grüße 😀 ' }), 200, '');
  assert.deepEqual(
    node.calls.map(({ uuid, call }) => ({ uuid, call })),
    [
      ...(['start', 'stop', 'restart', 'kill'] as const).map((signal) => ({
        kind: 'power',
        signal,
      })),
      { kind: 'command', command: ' say Grüße 😀 ' },
    ].map((call) => ({ uuid: uuidOf(1), call })),
  );
});

test('answers 502 with the text of the node when the node rejects', async (t) => {
  const { acme, node } = await start(t);
  for (const [reason, message] of [
    ['the server is stopping', 'The node refused: the server is stopping.'],
    ['The server is stopping.', 'The node refused: the server is stopping.'],
    ['', 'The node refused: it gave no reason.'],
  ] as const) {
    node.answer = () => ({ kind: 'refused', reason });
    acknowledged(await acme.post(POWER, START), 502, message);
    acknowledged(await acme.post(COMMAND, { command: 'x' }), 502, message);
  }
});

test('answers 502 in bounded time for a hanging or absent node and names the case', async (t) => {
  const { acme, node } = await start(t, { nodeTimeouts: IMPATIENT });
  node.answer = () => null;
  // Later than that, the deadline of requests would answer.
  const hung = await acme.post(POWER, START);
  acknowledged(
    hung,
    502,
    'The node did not answer within 3 s. It may have taken it all the same: look at the state of the server.',
  );
  assert.equal(node.calls[0]?.withinMs, 3000);
  await node.link.close();
  acknowledged(await acme.post(POWER, START), 502, 'The node did not answer: it is not connected.');
  const [refused, unconfirmed] = await readActivity(acme);
  const absent = 'The node did not answer: it is not connected.';
  assert.deepEqual(refused?.detail, { signal: 'start', refused: absent });
  assert.match(unconfirmed?.detail['unconfirmed'] ?? '', /It may have taken it all the same/);
});

test('the activity has as done what the node accepted, and says of the rest that it was refused', async (t) => {
  const { acme, node } = await start(t);
  node.answer = ({ call }) =>
    call.kind === 'command'
      ? { kind: 'refused', reason: 'it is not running' }
      : { kind: 'accepted' };
  acknowledged(await acme.post(POWER, START), 200, '');
  for (let times = 0; times < 2; times += 1) {
    const reply = await acme.post(COMMAND, { command: 'list' });
    acknowledged(reply, 502, 'The node refused: it is not running.');
  }
  assertRefused(await acme.post(POWER, { signal: 'x' }), 422, 'invalid_request');
  const refused = 'The node refused: it is not running.';
  assert.deepEqual(await readActivity(acme), [
    { action: 'command', detail: { command: 'list', refused }, times: 2 },
    { action: 'power', detail: { signal: 'start' }, times: 1 },
  ]);
});

test('answers 422 in the acknowledgement envelope for an unprovisioned server without calling its node', async (t) => {
  const { acme, node, db } = await start(t);
  const power = `/api/v1/game-servers/${uuidOf(2)}/power`;
  acknowledged(await acme.post(power, START), 422, 'The server is not provisioned yet.');
  await sql`update game_servers set build_state = 'failed' where uuid = ${uuidOf(2)}`.execute(db);
  const failed = 'The server is not provisioned yet. Building it failed.';
  acknowledged(await acme.post(power, START), 422, failed);
  assert.deepEqual(node.calls, []);
});

test('starts no suspended server, also before its node knows that it is', async (t) => {
  const { acme, node, db } = await start(t);
  await sql`update game_servers set suspended = true where uuid = ${uuidOf(1)}`.execute(db);
  const message = 'The node refused: the server is suspended.';
  acknowledged(await acme.post(POWER, START), 502, message);
  acknowledged(await acme.post(POWER, { signal: 'restart' }), 502, message);
  assert.deepEqual(node.calls, []);
  acknowledged(await acme.post(POWER, { signal: 'kill' }), 200, '');
});

test('commands: accepts one line of 1 to 2048 characters without control characters, everything else is 422', async (t) => {
  const { acme, node } = await start(t);
  for (const command of ['x', 'x'.repeat(2048), '😀'.repeat(2048), "'; rm -rf / #", '${jndi:x}']) {
    acknowledged(await acme.post(COMMAND, { command }), 200, '');
  }
  const received = node.calls.length;
  const wrong: unknown[] = [
    '',
    'x'.repeat(2049),
    '😀'.repeat(2049),
    ...[
      '\r',
      '\n',
      '\r\n',
      '\0',
      '\u001b',
      '\u0003',
      '\u007f',
      '\t',
      '\u0085',
      '\u009b',
      '\u2028',
      '\u2029',
      '\ud800',
    ].map((code) => `say ${code}`),
    null,
    7,
    ['say'],
    { text: 'say' },
  ];
  for (const command of wrong) {
    const reply = await acme.post(COMMAND, { command });
    assertRefused(reply, 422, 'invalid_request');
  }
  for (const body of [{}, [], 'say', null, { command: 'x', lines: 2 }, { Command: 'x' }]) {
    assertRefused(await acme.post(COMMAND, body), 422, 'invalid_request');
  }
  assert.equal(node.calls.length, received);
});

test('signals: accepts the four of the interface, everything else is 422', async (t) => {
  const { acme, node } = await start(t);
  for (const signal of [
    'START',
    'start ',
    'reboot',
    'SIGKILL',
    '',
    null,
    9,
    ['stop'],
    'toString',
  ]) {
    assertRefused(await acme.post(POWER, { signal }), 422, 'invalid_request');
  }
  for (const body of [{}, { signal: 'stop', wait: true }, [START], 'stop']) {
    assertRefused(await acme.post(POWER, body), 422, 'invalid_request');
  }
  assertRefused(await acme.send('POST', POWER, { raw: '{' }), 400, 'malformed_json');
  assertRefused(
    await acme.send('POST', `${POWER}?signal=stop`, { json: START }),
    422,
    'invalid_request',
  );
  assert.deepEqual(node.calls, []);
});

test('checks the key, the ability, the server and the body in this order', async (t) => {
  const world = await start(t);
  const bad = { signal: 'explode', colour: 'red' };
  const foreign = `/api/v1/game-servers/${uuidOf(900)}/power`;
  assertRefused(await world.anonymous().post(foreign, bad), 401, 'unauthenticated');
  const reader = await world.client({ abilities: ['game-servers.read'] });
  assertRefused(await reader.post(foreign, bad), 403, 'ability_missing');
  assertRefused(await world.acme.post(foreign, bad), 404, 'not_found');
  assertRefused(await world.acme.post(foreign, bad, key('a')), 404, 'not_found');
  assertRefused(await world.acme.post(POWER, bad), 422, 'invalid_request');
  // Invalid input is reported before the state of the server, so also while a server is being built.
  assertRefused(
    await world.acme.post(`/api/v1/game-servers/${uuidOf(2)}/power`, bad),
    422,
    'invalid_request',
  );
});

test('answers each of fifty concurrent equal signals and leaves nothing open', async (t) => {
  const { acme, node } = await start(t);
  let turn = 0;
  node.answer = () =>
    turn++ % 2 === 0 ? { kind: 'accepted' } : { kind: 'refused', reason: 'busy' };
  node.delayMs = 20;
  const replies = await Promise.all(Array.from({ length: 50 }, () => acme.post(POWER, START)));
  const ok = replies.filter(({ status }) => status === 200).length;
  assert.equal(node.calls.length, 50);
  assert.equal(ok, 25);
  assert.ok(replies.every(({ status }) => status === 200 || status === 502));
});

test('holds no database connection or transaction while waiting for a hung node', async (t) => {
  const { acme, node, db } = await start(t, { nodeTimeouts: IMPATIENT });
  node.answer = () => null;
  const hung = Array.from({ length: 20 }, () => acme.post(POWER, START));
  await node.called(hung.length);
  const { rows } = await sql<{ held: number }>`
    select count(*)::integer as held from pg_stat_activity
     where datname = current_database() and state like 'idle in transaction%'`.execute(db);
  assert.deepEqual(rows, [{ held: 0 }]);
  for (const reply of await Promise.all(hung)) assert.equal(reply.status, 502);
});

test('Idempotency-Key: a repeat gets the first answer and calls the node once; another body is 422', async (t) => {
  const { acme, node } = await start(t);
  const command = { command: 'give alex diamond 64' };
  const first = await acme.post(COMMAND, command, key('a'));
  acknowledged(first, 200, '');
  assert.equal(first.headers.get('idempotency-replayed'), null);
  const again = await acme.post(COMMAND, command, key('a'));
  assert.equal(again.text, first.text);
  assert.equal(again.headers.get('idempotency-replayed'), 'true');
  assertRefused(
    await acme.post(COMMAND, { command: 'x' }, key('a')),
    422,
    'idempotency_key_reused',
  );
  assert.equal(node.calls.length, 1);
});

test('Idempotency-Key: a refusal frees the key', async (t) => {
  const { acme, node } = await start(t);
  const unbuilt = `/api/v1/game-servers/${uuidOf(2)}/power`;
  const early = await acme.post(unbuilt, START, key('early'));
  acknowledged(early, 422, 'The server is not provisioned yet.');
  const wrong = await acme.post(POWER, { signal: 'x' }, key('early'));
  assertRefused(wrong, 422, 'invalid_request');
  node.answer = () => ({ kind: 'refused', reason: 'busy' });
  acknowledged(await acme.post(POWER, START, key('b')), 502, 'The node refused: busy.');
  node.answer = () => ({ kind: 'accepted' });
  const retried = await acme.post(POWER, START, key('b'));
  acknowledged(retried, 200, '');
  assert.equal(retried.headers.get('idempotency-replayed'), null);
});

test('Idempotency-Key: an instruction is not sent again after its control plane died', async (t) => {
  const { acme, node, db } = await start(t, { nodeTimeouts: IMPATIENT });
  node.answer = () => null;
  const dying = acme.post(COMMAND, { command: 'x' }, key('a'));
  await node.called(1);
  // As after a killed process: the key is claimed and never completed.
  const { rows } = await sql`select * from idempotency_keys`.execute(db);
  assert.equal(rows.length, 1);
  assertRefused(
    await acme.post(COMMAND, { command: 'x' }, key('a')),
    409,
    'idempotency_in_progress',
  );
  await dying;
  await sql`
    insert into idempotency_keys
    select * from jsonb_populate_recordset(null::idempotency_keys, ${JSON.stringify(
      rows.map((row) => ({
        ...(row as object),
        body_hash: `\\x${(row as { body_hash: Buffer }).body_hash.toString('hex')}`,
      })),
    )}::jsonb)`.execute(db);
  await sql`update idempotency_keys set created_at = now() - interval '1 minute'`.execute(db);
  node.answer = () => ({ kind: 'accepted' });
  node.calls.length = 0;
  for (let again = 0; again < 2; again += 1) {
    const reply = await acme.post(COMMAND, { command: 'x' }, key('a'));
    assert.equal(reply.status, 502);
    assert.match(reply.text, /interrupted/);
  }
  assert.deepEqual(node.calls, []);
});

test('audits every instruction with its result before the answer', async (t) => {
  const { acme, node, db } = await start(t);
  await acme.post(POWER, { signal: 'kill' });
  node.answer = () => ({ kind: 'refused', reason: 'it is offline' });
  await acme.post(COMMAND, { command: 'op alex' });
  await acme.post(POWER, { signal: 'explode' });
  const { rows } = await sql<{ action: string; target: string; detail: object }>`
    select action, target, detail from audit where action like 'server.%' order by id`.execute(db);
  const target = `server:${uuidOf(1)}`;
  assert.deepEqual(rows, [
    { action: 'server.power', target, detail: { signal: 'kill', ok: true } },
    {
      action: 'server.command',
      target,
      detail: { command: 'op alex', ok: false, message: 'The node refused: it is offline.' },
    },
  ]);
});
