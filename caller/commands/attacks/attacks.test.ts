import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { after, test, type TestContext } from 'node:test';
import {
  endAttack,
  putAttack,
  putEvidence,
} from '@portcullis/control/attacks/detection/testing.ts';
import { startEnvironment, type TestEnvironment } from '@portcullis/control/testing/fixture.ts';
import { sparkline } from './show.ts';
import { changesOf } from './watch.ts';
import { CommandSession, RunningCommand } from '@portcullis/cli/testing/run.ts';

const session = new CommandSession({ PATH: process.env['PATH'], HOME: tmpdir() });
after(() => session.close());

/** The environment of a command that uses the API at `url` with the key of `world`. */
function environment(acme: TestEnvironment['acme'], url: string) {
  return {
    PATH: process.env['PATH'],
    HOME: tmpdir(),
    PORTCULLIS_API_KEY: (acme.authorization ?? '').replace('Bearer ', ''),
    PORTCULLIS_URL: url,
  };
}

test('portcullis attacks', async (t) => {
  const world = await startEnvironment(t);
  const env = environment(world.acme, world.url);
  const run = (...args: readonly string[]) => session.run(['attacks', ...args], env);

  await t.test(
    'attacks are listed over all pages, filtered, and shown with their evidence',
    async () => {
      for (let index = 1; index <= 120; index++) {
        const subject = `203.0.113.${index % 100}`;
        await putAttack(world.db, { subject, startedAgo: index * 60, endedAgo: index * 60 - 30 });
      }
      const id = await putAttack(world.db, { subject: '203.0.113.10', startedAgo: 5 });
      const all = await run('list', '--json', '--limit', '1000', '--from', '7d');
      assert.deepEqual([all.code, all.err], [0, '']);
      const { data: attacks, meta } = JSON.parse(all.out) as {
        data: { id: number }[];
        meta: { total: number };
      };
      assert.deepEqual(
        [attacks.length, meta.total, new Set(attacks.map((one) => one.id)).size],
        [121, 121, 121],
      );
      const ongoing = await run('list', '--ongoing', '--ip', '203.0.113.10');
      assert.match(ongoing.out, /ID +TARGET/);
      assert.match(
        ongoing.out,
        new RegExp(`${id} +203\\.0\\.113\\.10 +udp_flood +812\\.40 Kpps +1\\.25 Gbps`),
      );
      const limited = await run('list', '--limit', '2');
      assert.match(limited.out, /and 119 more/);
      const none = await run('list', '--prefix', '192.0.2.0/24');
      assert.match(none.out, /^No attacks since /);
      const short = await run('show', String(id));
      assert.deepEqual([short.code, short.err], [0, '']);
      assert.match(short.out, /on 203\.0\.113\.10 \(203\.0\.113\.0\/24\): ongoing/);
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
      const shown = await run('show', String(id));
      assert.match(shown.out, /udp_flood: udp_flood 70 %, icmp_flood 30 %/);
      assert.match(shown.out, /between 8\.00 pps and 12\.00 pps/);
      assert.match(shown.out, /after 750 ms, not mitigated/);
      assert.match(
        shown.out,
        /192\.0\.2\.66\nfrom ports +udp 53\nto ports +not known\ntraffic +▂▃█/,
      );
    },
  );

  await t.test('usage errors and errors of control exit with their own exit codes', async () => {
    const unknown = await run('show', '4711');
    assert.equal(unknown.code, 1);
    const bad = await run('show', 'x');
    assert.equal(bad.code, 2);
    assert.match(bad.err, /whole number/);
    const limit = await run('list', '--limit', '0');
    assert.equal(limit.code, 2);
    const prefix = await run('list', '--prefix', '203.0.113.1/24');
    assert.equal(prefix.code, 2);
    assert.match(
      prefix.err,
      /^portcullis: The parameter prefix must be .*203\.0\.113\.0\/24 is probably meant/,
    );
    const from = await run('list', '--from', 'yesterday');
    assert.match(from.err, /^portcullis: --from yesterday is not a time: /);
  });

  await t.test('watch retries while control is unavailable and reports that once', async (t2) => {
    const proxy = await startProxy(t2, world.url);
    const proxied = environment(world.acme, proxy.url);
    const watching = new RunningCommand(['attacks', 'watch'], proxied);
    const id = await putAttack(world.db, { subject: '203.0.113.10', startedAgo: 1 });
    await watching.prints(new RegExp(`^${id} .* started `, 'm'));
    proxy.state = 'closing';
    await watching.prints(/Control is unavailable, .+\n/, 'err');
    proxy.state = 'refusing';
    await once(proxy.server, 'request');
    await endAttack(world.db, id, new Date());
    proxy.state = 'open';
    await watching.prints(new RegExp(`^${id} .* ended `, 'm'));
    await watching.prints(/Control is available again\.\n/, 'err');
    const { err } = await watching.stop();
    assert.match(err, /^Watching; .*\n.* retrying: .*\n.* again\.\n$/);
    // The first request fails: the URL may be wrong.
    proxy.state = 'closing';
    const failed = await session.run(['attacks', 'watch'], proxied);
    assert.deepEqual([failed.code, failed.out], [69, '']);
    // A client error is not retried.
    assert.equal((await run('watch', '--ip', 'nonsense')).code, 2);
  });

  await t.test('watch prints each of 500 simultaneous attacks once, and its end', async () => {
    const watching = new RunningCommand(['attacks', 'watch', '--json'], env);
    const records = (text: string) =>
      text
        .split('\n')
        .filter((line) => line.endsWith('}'))
        .map((line) => JSON.parse(line) as { id: number; status: string });
    const prints = (status: string, ids: readonly number[]) =>
      watching.printsWhere((text) => {
        const found = records(text).filter((attack) => attack.status === status);
        const printed = new Set(found.map((attack) => attack.id));
        return ids.every((id) => printed.has(id));
      });
    const first = await putAttack(world.db, { subject: '203.0.113.1', startedAgo: 30 });
    await prints('ongoing', [first]);
    const now = new Date();
    const ids = await Promise.all(
      Array.from({ length: 500 }, (_, index) =>
        putAttack(world.db, { subject: `203.0.113.${index % 100}`, startedAgo: 1, now }),
      ),
    );
    await prints('ongoing', ids);
    // The first attack is on the last page.
    await endAttack(world.db, first, new Date());
    await prints('ended', [first]);
    const { out, err } = await watching.stop();
    const all = new Set([first, ...ids]);
    assert.equal(records(out).filter(({ id }) => all.has(id)).length, 502);
    assert.match(err, /^Watching; [^\n]*\n$/);
  });
});

/** A proxy in front of control that can close connections or answer 502. */
async function startProxy(t: TestContext, target: string) {
  const server = createServer((request, response) => {
    if (proxy.state === 'closing') request.socket.destroy();
    else if (proxy.state === 'refusing') response.writeHead(502).end();
    else void forward(request, response);
  });
  const forward = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const answer = await fetch(new URL(request.url ?? '/', target), {
      headers: { authorization: request.headers.authorization ?? '' },
    });
    const body = await answer.text();
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(body);
  };
  const proxy: { state: 'open' | 'closing' | 'refusing'; url: string; server: typeof server } = {
    state: 'open',
    url: '',
    server,
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return proxy;
}

test('watch prints each change once, and a traffic line shows the highest rates', () => {
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
  const changes = (before: object | null, now: object): string[] => {
    const known = new Map(before === null ? [] : [[1, { ...attack, ...before }]]);
    return changesOf(known, [{ ...attack, ...now }]).map(({ line }) => line.split('  ')[3] ?? '');
  };
  assert.deepEqual(changes(null, {}), ['started']);
  assert.deepEqual(changes({}, { duration_seconds: 9 }), []);
  assert.deepEqual(changes({}, { peak_pps: 11 }), ['grew']);
  assert.deepEqual(changes({}, { mitigated_at: 'x' }), ['mitigated']);
  assert.deepEqual(changes(null, { mitigated_at: 'x' }), ['started, mitigated']);
  assert.deepEqual(changes({}, { mitigated_at: 'x', ended_at: 'x' }), ['mitigated, ended']);
  assert.deepEqual(changes({ mitigated_at: 'x' }, { mitigated_at: 'x', ended_at: 'x' }), ['ended']);
  assert.deepEqual(changes(null, { mitigated_at: 'x', ended_at: 'x' }), ['ended earlier']);
  assert.deepEqual(changes({}, { ended_at: 'x' }), ['ended']);
  assert.deepEqual(changes({ ended_at: 'x' }, {}), ['ongoing again']);
  const long = Array.from({ length: 600 }, (_, index) => (index === 333 ? 100 : 0));
  assert.deepEqual([sparkline(long).length, sparkline(long).includes('█')], [60, true]);
  assert.equal(sparkline([]), '');
});
