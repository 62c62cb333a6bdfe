import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Db } from '../../../db/database.ts';
import type { ResponderSpec } from '../../../db/schema.ts';
import { testDatabase } from '../../../db/testing.ts';
import { insertHolding, insertOrganisation } from '../../../fleet/testing.ts';
import type { ReportedAttack } from '../../detection/index.ts';
import { recordOngoing, respondTo, sweepAll } from '../mitigations/testing.ts';
import { type CallBody, makeCall } from './call.ts';
import { startCalls } from './calls.ts';

const SUBJECT = '203.0.113.10';
const SPEC = {
  prefixes: null,
  pps: null,
  mbps: null,
  timeoutSeconds: 5,
  expiresSeconds: 3600,
} as const;
const BODY: CallBody = {
  call: 1,
  event: 'start',
  run: 1,
  attack: {
    id: 1,
    target: `${SUBJECT}/32`,
    type: 'udp_flood',
    peak_pps: 1,
    peak_bps: 1,
    started_at: '2026-11-21T00:00:00.000Z',
  },
  expires_at: '2026-11-21T01:00:00.000Z',
};
const GO_ON = new AbortController().signal;

function script(source: string, ...args: readonly string[]): ResponderSpec['call'] {
  return { kind: 'command', command: [process.execPath, '-e', source, '--', ...args] };
}

function call(of: ResponderSpec['call'], change: Partial<ResponderSpec> = {}) {
  return makeCall({ ...SPEC, call: of, ...change }, BODY, GO_ON);
}

async function attacked(
  t: TestContext,
  spec: ResponderSpec,
): Promise<{ db: Db; heard: ReportedAttack }> {
  const { db } = await testDatabase(t);
  await insertHolding(db, await insertOrganisation(db, 'acme'), '203.0.113.0/24');
  await sql`insert into responders (name, spec, owner) values ('one', ${JSON.stringify(spec)}::jsonb, 'fleet')`.execute(
    db,
  );
  return { db, heard: await recordOngoing(db, SUBJECT, 'udp_flood') };
}

interface Received {
  readonly body: CallBody;
  readonly authorization: string | undefined;
}

/** A real server that answers with the status from `statusOf`. */
async function webhook(
  t: TestContext,
  statusOf: (received: Received, count: number) => number,
): Promise<{ url: string; received: Received[]; until: (count: number) => Promise<void> }> {
  const received: Received[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  const server = createServer((request, response) => {
    void textOf(request).then((text) => {
      const body = JSON.parse(text) as CallBody;
      received.push({ body, authorization: request.headers.authorization });
      const status = statusOf({ body, authorization: undefined }, received.length);
      response.writeHead(status, { location: 'http://127.0.0.1:9/' }).end(`said ${status}`);
      for (const one of waiting) if (received.length >= one.count) one.resolve();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/attacks`,
    received,
    until: (count) =>
      new Promise((resolve) => {
        if (received.length >= count) resolve();
        else waiting.push({ count, resolve });
      }),
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

interface CallRow {
  kind: string;
  attempts: number;
  succeeded: boolean | null;
  result: string | null;
}

async function callRows(db: Db): Promise<CallRow[]> {
  const { rows } = await sql<CallRow>`
    select kind, attempts, succeeded, result from responder_calls order by id`.execute(db);
  return rows;
}

async function settled(db: Db, count: number): Promise<CallRow[]> {
  for (let look = 0; look < 1_200; look += 1) {
    const rows = await callRows(db);
    if (rows.filter(({ succeeded }) => succeeded !== null).length >= count) return rows;
    await delay(25);
  }
  return assert.fail(`not settled: ${JSON.stringify(await callRows(db))}`);
}

test('passes a command the attack as JSON and its arguments unchanged, without the environment of control', async () => {
  const source = `
    let text = '';
    process.stdin.on('data', (chunk) => (text += chunk)).on('end', () => {
      const { attack, event } = JSON.parse(text);
      const secrets = Object.keys(process.env).filter((name) => name === 'SECRET_OF_OURS');
      console.log(JSON.stringify([attack.target, event, process.argv.slice(1), secrets]));
    });`;
  process.env['SECRET_OF_OURS'] = 'x';
  const result = await call(script(source, '$(id); `id`', '; rm -rf /'));
  delete process.env['SECRET_OF_OURS'];
  assert.equal(result.succeeded, true, result.output);
  assert.deepEqual(JSON.parse(result.output), [
    `${SUBJECT}/32`,
    'start',
    ['$(id); `id`', '; rm -rf /'],
    [],
  ]);
});

test('bounds and reports a command that fails, hangs with children, writes endlessly or does not exist', async (t) => {
  const failed = await call(script('console.error("no route"); process.exitCode = 3'));
  assert.deepEqual(failed, { succeeded: false, output: 'exit code 3: no route' });
  const absent = await call({ kind: 'command', command: ['/nonexistent/blackhole'] });
  assert.match(absent.output, /ENOENT/);
  const endless = await call(script('process.stdout.write("x".repeat(1 << 20))'));
  assert.ok(endless.succeeded && endless.output.length <= 4096);
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-responder-'));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, 'pid');
  // The remaining child keeps its pipes open.
  const source = `
    const child = require('node:child_process').spawn('/bin/sleep', ['600'], { stdio: 'inherit' });
    require('node:fs').writeFileSync(process.argv[1], String(child.pid));
    setInterval(() => {}, 1000);`;
  const begin = performance.now();
  const hung = await call(script(source, file), { timeoutSeconds: 5 });
  assert.deepEqual(hung, { succeeded: false, output: 'no answer within 5 s' });
  assert.ok(performance.now() - begin < 60_000);
  await gone(Number(await readFile(file, 'utf8')));
});

test('completes a command at its exit, even if a child keeps its output open, and kills its children', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-responder-'));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, 'pid');
  const ran = async (source: string) => {
    const result = await call({ kind: 'command', command: ['/bin/sh', '-c', source, 'sh', file] });
    const pid = Number(await readFile(file, 'utf8'));
    assert.ok(pid > 1);
    return { result, pid };
  };
  const left = await ran('sleep 600 & echo $! >"$1"; cat >/dev/null; echo done');
  assert.deepEqual(left.result, { succeeded: true, output: 'done' });
  await gone(left.pid);
  const silent = await ran('sleep 600 >/dev/null 2>&1 & echo $! >"$1"; exit 0');
  assert.deepEqual(silent.result, { succeeded: true, output: '' });
  await gone(silent.pid);
  const failed = await ran('sleep 600 & echo $! >"$1"; echo no route >&2; exit 3');
  assert.deepEqual(failed.result, { succeeded: false, output: 'exit code 3: no route' });
  await gone(failed.pid);
  // Output through a pipe may arrive shortly after the exit; on a busy machine not within that time.
  for (let tries = 1; ; tries += 1) {
    const late = await ran('(/bin/echo late) & echo $$ >"$1"; exit 0');
    if (late.result.output === '' && tries < 20) continue;
    assert.deepEqual(late.result, { succeeded: true, output: 'late' });
    break;
  }
});

/** After the kill it may take some time until it is reaped. */
async function gone(pid: number): Promise<void> {
  for (let look = 0; look < 1_200; look += 1) {
    const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => 'gone');
    if (state === 'gone' || / [ZX] /.test(state)) return;
    await delay(25);
  }
  assert.fail(`${pid} runs on`);
}

test('sends a webhook JSON and its secret; error statuses, redirects and timeouts are failures', async (t) => {
  const server = await webhook(t, (_, count) => [204, 500, 302][count - 1] ?? 200);
  const hook = { kind: 'webhook', url: server.url, secret: 'hush' } as const;
  assert.deepEqual(await call(hook), { succeeded: true, output: '204' });
  assert.deepEqual(server.received[0], { body: BODY, authorization: 'Bearer hush' });
  assert.deepEqual(await call(hook), { succeeded: false, output: '500 said 500' });
  assert.deepEqual(await call(hook), { succeeded: false, output: '302 said 302' });
  assert.equal(server.received.length, 3, 'no redirect is followed');
  const silent = createServer(() => {});
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.after(() => {
    silent.closeAllConnections();
    silent.close();
  });
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
  const unanswered = await call({ ...hook, url }, { timeoutSeconds: 1 });
  assert.deepEqual(unanswered, { succeeded: false, output: 'no answer within 1 s' });
});

test('stores nothing of the secret when an endpoint repeats what it received', async (t) => {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(401).end(JSON.stringify(request.headers)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const { output } = await call({ kind: 'webhook', url, secret: 'correct-horse' });
  assert.match(output, /^401 .*Bearer \[secret\]/);
  assert.equal(output.includes('correct-horse'), false);
});

test('calls a responder once at the start and once at the end of an attack, in this order, and retries failures', async (t) => {
  const server = await webhook(t, (_, count) => (count === 1 ? 503 : 200));
  const spec = { ...SPEC, call: { kind: 'webhook', url: server.url, secret: null } } as const;
  const { db, heard: messages } = await attacked(t, spec);
  const failures: unknown[] = [];
  const events = { called: () => {}, failed: (_: string, error: unknown) => failures.push(error) };
  const calls = startCalls({ db, events, everyMs: 20 });
  t.after(() => calls.stop());
  await respondTo(db, messages);
  await respondTo(db, { ...messages, kind: 'changed' });
  await server.until(2);
  await respondTo(db, { ...messages, kind: 'ended' });
  const rows = await settled(db, 2);
  assert.deepEqual(rows, [
    { kind: 'start', attempts: 2, succeeded: true, result: '200 said 200' },
    { kind: 'withdraw', attempts: 1, succeeded: true, result: '200 said 200' },
  ]);
  const reported = server.received.map(({ body }) => [body.event, body.call, body.attack.id]);
  const [start, again, back] = reported;
  assert.deepEqual(start, again, 'the same call, known by its id');
  assert.deepEqual(back?.[0], 'withdraw');
  assert.equal(server.received[2]?.body.run, server.received[0]?.body.run);
  assert.deepEqual(failures, []);
});

test('withdraws a run that lasts too long during the attack, and does not start it again', async (t) => {
  const server = await webhook(t, () => 200);
  const spec = { ...SPEC, call: { kind: 'webhook', url: server.url, secret: null } } as const;
  const { db, heard: messages } = await attacked(t, spec);
  const calls = startCalls({ db, events: { called: () => {}, failed: () => {} }, everyMs: 20 });
  t.after(() => calls.stop());
  await respondTo(db, messages);
  await settled(db, 1);
  await sql`update responder_runs set expires_at = now()`.execute(db);
  await sweepAll(db, false);
  await settled(db, 2);
  await respondTo(db, { ...messages, kind: 'changed' });
  await sweepAll(db);
  assert.deepEqual(
    server.received.map(({ body }) => body.event),
    ['start', 'withdraw'],
  );
  const { rows } = await sql<{ why: string }>`
    select withdrawn_because as why from responder_runs`.execute(db);
  assert.deepEqual(rows, [{ why: 'expired' }]);
});

test('the next process repeats the call of a killed process, and a stopping process ends its command', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-responder-'));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, 'reported');
  await writeFile(file, '');
  // Hangs on the first call.
  const source = `
    const fs = require('node:fs');
    fs.appendFileSync(process.argv[1], 'x');
    if (fs.readFileSync(process.argv[1], 'utf8') === 'x') setInterval(() => {}, 1000);`;
  const { db, heard: messages } = await attacked(t, {
    ...SPEC,
    call: script(source, file),
    timeoutSeconds: 30,
  });
  await respondTo(db, messages);
  const events = { called: () => {}, failed: () => {} };
  const first = startCalls({ db, events, everyMs: 20 });
  for (let look = 0; look < 1_200 && (await readFile(file, 'utf8')) === ''; look += 1)
    await delay(25);
  await first.stop();
  const second = startCalls({ db, events, everyMs: 20 });
  t.after(() => second.stop());
  const [row] = await settled(db, 1);
  assert.equal(row?.succeeded, true);
  assert.equal(await readFile(file, 'utf8'), 'xx');
});

test('calls a responder only for attacks of its size and prefix, and not for observed ones', async (t) => {
  const command = script('');
  const { db, heard: messages } = await attacked(t, {
    ...SPEC,
    call: command,
    pps: 900_000,
    mbps: 9000,
  });
  const count = async (): Promise<number> => (await callRows(db)).length;
  await respondTo(db, messages);
  assert.equal(await count(), 0, 'too small');
  const set = (spec: ResponderSpec) =>
    sql`update responders set spec = ${JSON.stringify(spec)}::jsonb`.execute(db);
  await set({ ...SPEC, call: command, prefixes: ['198.51.100.0/24'] });
  await respondTo(db, { ...messages, kind: 'changed' });
  assert.equal(await count(), 0, 'elsewhere');
  await set({ ...SPEC, call: command, prefixes: ['203.0.113.0/25'], mbps: 1000 });
  await sql`update holdings set detection = '{"mitigation": "observe"}'`.execute(db);
  await respondTo(db, { ...messages, kind: 'changed' });
  assert.equal(await count(), 0, 'only observed');
  await sql`update holdings set detection = '{}'`.execute(db);
  await respondTo(db, { ...messages, kind: 'changed' });
  assert.equal(await count(), 1);
  // Ended before the first call, so there is nothing to withdraw.
  await respondTo(db, { ...messages, kind: 'ended' });
  assert.deepEqual(await callRows(db), [
    { kind: 'start', attempts: 0, succeeded: false, result: 'not needed any more' },
  ]);
});
