import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { endAttack, putAttack, putEvidence } from '@portcullis/control/attacks/testing.ts';
import { startWorld, type World } from '@portcullis/control/http/testing/fixture.ts';
import { sparkline } from './commands/attacks/show.ts';
import { changesOf } from './commands/attacks/watch.ts';

const MAIN = join(import.meta.dirname, 'main.ts');

function start(world: Pick<World, 'acme' | 'url'>, ...args: readonly string[]) {
  const key = (world.acme.authorization ?? '').replace('Bearer ', '');
  const child = spawn(process.execPath, [MAIN, 'attacks', ...args], {
    env: {
      PATH: process.env['PATH'],
      HOME: tmpdir(),
      PORTCULLIS_API_KEY: key,
      PORTCULLIS_URL: world.url,
    },
    timeout: 60_000,
  });
  const told = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (told.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (told.err += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  return { child, told, ended };
}

async function run(world: Pick<World, 'acme' | 'url'>, ...args: readonly string[]) {
  const { told, ended } = start(world, ...args);
  const code = await ended;
  return { code, ...told };
}

test('attacks are listed over all pages, narrowed as asked, and shown with their evidence', async (t) => {
  const world = await startWorld(t);
  for (let index = 1; index <= 120; index++) {
    const subject = `203.0.113.${index % 100}`;
    await putAttack(world.db, { subject, startedAgo: index * 60, endedAgo: index * 60 - 30 });
  }
  const id = await putAttack(world.db, { subject: '203.0.113.10', startedAgo: 5 });
  const all = await run(world, 'list', '--json', '--limit', '1000', '--from', '7d');
  assert.deepEqual([all.code, all.err], [0, '']);
  const { attacks, total } = JSON.parse(all.out) as { attacks: { id: number }[]; total: number };
  assert.deepEqual(
    [attacks.length, total, new Set(attacks.map((one) => one.id)).size],
    [121, 121, 121],
  );
  const going = await run(world, 'list', '--ongoing', '--ip', '203.0.113.10');
  assert.match(going.out, /ID +TARGET/);
  assert.match(
    going.out,
    new RegExp(`${id} +203\\.0\\.113\\.10 +udp_flood +812\\.40 Kpps +1\\.25 Gbps`),
  );
  const few = await run(world, 'list', '--limit', '2');
  assert.match(few.out, /and 119 more/);
  const none = await run(world, 'list', '--prefix', '192.0.2.0/24');
  assert.match(none.out, /^No attacks since /);
  const bare = await run(world, 'show', String(id));
  assert.deepEqual([bare.code, bare.err], [0, '']);
  assert.match(bare.out, /on 203\.0\.113\.10 \(203\.0\.113\.0\/24\): ongoing/);
  const evidence = {
    shares: [
      { type: 'udp_flood', share: 0.7 },
      { type: 'icmp_flood', share: 0.3 },
    ],
    peakPps: { value: 10, low: 8, high: 12 },
    peakBps: { value: 10, low: 8, high: 12 },
    tops: {
      sources: [{ source: '192.0.2.66', packets: 7.5 }],
      sourcePorts: [{ port: 53, protocol: 'udp', packets: 1 }],
      destinationPorts: [],
    },
    series: { startMs: Date.now(), stepMs: 1000, pps: [1, 2, 8], bps: [8, 16, 64] },
  };
  await putEvidence(world.db, id, evidence);
  const shown = await run(world, 'show', String(id));
  assert.match(shown.out, /udp_flood: udp_flood 70 %, icmp_flood 30 %/);
  assert.match(shown.out, /between 8\.00 pps and 12\.00 pps/);
  assert.match(shown.out, /after 750 ms, not mitigated/);
  assert.match(shown.out, /192\.0\.2\.66\nfrom ports +udp 53\nto ports +not known\ntraffic +▂▃█/);
});

test('what is wrong is said, with the exit code of its kind', async (t) => {
  const world = await startWorld(t);
  const strange = await run(world, 'show', '4711');
  assert.equal(strange.code, 1);
  const bad = await run(world, 'show', 'x');
  assert.equal(bad.code, 2);
  assert.match(bad.err, /whole number/);
  const limit = await run(world, 'list', '--limit', '0');
  assert.equal(limit.code, 2);
  const prefix = await run(world, 'list', '--prefix', '203.0.113.1/24');
  assert.equal(prefix.code, 1);
  assert.match(prefix.err, /^portcullis: prefix must be .*203\.0\.113\.0\/24 is probably meant/);
  const from = await run(world, 'list', '--from', 'yesterday');
  assert.match(from.err, /^portcullis: from must be a valid date-time$/m);
});

test('a watch tells an attack as it begins and ends', async (t) => {
  const world = await startWorld(t);
  const { child, told, ended } = start(world, 'watch', '--json');
  const until = async (pattern: RegExp): Promise<void> => {
    for (let tries = 0; !pattern.test(told.out); tries++) {
      assert.ok(tries < 300, `${told.out}${told.err}`);
      await delay(100);
    }
  };
  const id = await putAttack(world.db, { subject: '203.0.113.10', startedAgo: 1 });
  await until(/"status":"ongoing"/);
  await endAttack(world.db, id, new Date());
  await until(/"status":"ended"/);
  child.kill('SIGINT');
  await ended;
});

test('a watch goes on when control was away in the middle of an attack, and says so once', async (t) => {
  const world = await startWorld(t);
  const front = await startFront(t, world.url);
  const { child, told, ended } = start({ acme: world.acme, url: front.url }, 'watch');
  const until = async (stream: 'out' | 'err', pattern: RegExp): Promise<void> => {
    for (let tries = 0; !pattern.test(told[stream]); tries++) {
      assert.ok(tries < 300, `${told.out}${told.err}`);
      assert.equal(child.exitCode, null, told.err);
      await delay(100);
    }
  };
  const id = await putAttack(world.db, { subject: '203.0.113.10', startedAgo: 1 });
  await until('out', /started/);
  front.state = 'cut';
  await until('err', /Control is unavailable, .+\n/);
  front.state = 'refusing';
  const seen = front.asked;
  for (let tries = 0; front.asked === seen; tries++) {
    assert.ok(tries < 300, 'it was not looked for again');
    await delay(100);
  }
  await endAttack(world.db, id, new Date());
  front.state = 'open';
  await until('out', / ended /);
  await until('err', /Control is available again\.\n/);
  assert.equal(told.err.trim().split('\n').length, 2, told.err);
  child.kill('SIGINT');
  await ended;
  // It was never there: the URL may be wrong.
  front.state = 'cut';
  const never = await run({ acme: world.acme, url: front.url }, 'watch');
  assert.deepEqual([never.code, never.out], [69, '']);
  // A refusal is no absence.
  const refused = await run(world, 'watch', '--ip', 'nonsense');
  assert.equal(refused.code, 1);
});

/** Stands before control, so that it can be away: connections break off, or a proxy says that nobody is behind it. */
async function startFront(t: TestContext, target: string) {
  const front: { state: 'open' | 'cut' | 'refusing'; asked: number; url: string } = {
    state: 'open',
    asked: 0,
    url: '',
  };
  const server = createServer((request, response) => {
    front.asked += 1;
    if (front.state === 'cut') request.socket.destroy();
    else if (front.state === 'refusing') response.writeHead(502).end();
    else void pass(request, response);
  });
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const answer = await fetch(new URL(request.url ?? '/', target), {
      headers: { authorization: request.headers.authorization ?? '' },
    });
    const body = await answer.text();
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(body);
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  front.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return front;
}

test('a watch misses none of five hundred attacks that begin at once, nor that one of them is over', async (t) => {
  const world = await startWorld(t);
  const { child, told, ended } = start(world, 'watch', '--json');
  const linesOf = (status: string): Set<number> =>
    new Set(
      told.out
        .split('\n')
        .filter((line) => line.endsWith('}'))
        .map((line) => JSON.parse(line) as { id: number; status: string })
        .filter((attack) => attack.status === status)
        .map(({ id }) => id),
    );
  const until = async (status: string, ids: readonly number[]): Promise<void> => {
    for (let tries = 0; !ids.every((id) => linesOf(status).has(id)); tries++) {
      assert.ok(tries < 300, `${linesOf(status).size} of ${ids.length} are ${status} ${told.err}`);
      await delay(100);
    }
  };
  const first = await putAttack(world.db, { subject: '203.0.113.1', startedAgo: 30 });
  await until('ongoing', [first]);
  const now = new Date();
  const ids: number[] = [];
  for (let index = 0; index < 500; index++) {
    const subject = `203.0.113.${index % 100}`;
    ids.push(await putAttack(world.db, { subject, startedAgo: 1, now }));
  }
  await until('ongoing', ids);
  // It is on the last page.
  await endAttack(world.db, first, new Date());
  await until('ended', [first]);
  const lines = told.out.trim().split('\n').length;
  assert.equal(lines, 502, 'each is told once');
  assert.equal(told.err, '');
  child.kill('SIGINT');
  await ended;
});

test('news of attacks are told once, and a traffic line keeps its highest', () => {
  const attack = {
    id: 1,
    destination_ip: '203.0.113.1',
    prefix: '203.0.113.0/24',
    attack_type: 'udp_flood',
    peak_bps: 8_000,
    peak_bps_formatted: '',
    peak_pps: 10,
    peak_pps_formatted: '',
    started_at: '',
    mitigated_at: null,
    ended_at: null,
    duration_seconds: 1,
    status: 'ongoing',
  };
  const told = (before: object | null, now: object): string[] => {
    const known = new Map(before === null ? [] : [[1, { ...attack, ...before }]]);
    return changesOf(known, [{ ...attack, ...now }]).map(({ line }) => line.split('  ')[3] ?? '');
  };
  assert.deepEqual(told(null, {}), ['started']);
  assert.deepEqual(told({}, { duration_seconds: 9 }), []);
  assert.deepEqual(told({}, { peak_pps: 11 }), ['grew']);
  assert.deepEqual(told({}, { mitigated_at: 'x' }), ['mitigated']);
  assert.deepEqual(told(null, { mitigated_at: 'x' }), ['started, mitigated']);
  assert.deepEqual(told({}, { mitigated_at: 'x', ended_at: 'x' }), ['mitigated, ended']);
  assert.deepEqual(told({ mitigated_at: 'x' }, { mitigated_at: 'x', ended_at: 'x' }), ['ended']);
  assert.deepEqual(told(null, { mitigated_at: 'x', ended_at: 'x' }), ['ended earlier']);
  assert.deepEqual(told({}, { ended_at: 'x' }), ['ended']);
  assert.deepEqual(told({ ended_at: 'x' }, {}), ['ongoing again']);
  const long = Array.from({ length: 600 }, (_, index) => (index === 333 ? 100 : 0));
  assert.deepEqual([sparkline(long).length, sparkline(long).includes('█')], [60, true]);
  assert.equal(sparkline([]), '');
});
