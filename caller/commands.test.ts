import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { after, test, type TestContext } from 'node:test';
import { DROPS, EXPLANATION } from '@portcullis/contract/operations/x1-examples.ts';
import { newDrops } from './commands/drops.ts';
import { localTime } from './output.ts';
import { CommandSession, RunningCommand } from '@portcullis/cli/testing/run.ts';

const session = new CommandSession({ PATH: process.env['PATH'], HOME: tmpdir() });
after(() => session.close());

/** An API that gives the same answer to every request, and the requests that it received. */
async function apiOf(t: TestContext, status: number, body: object) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as { port: number };
  const env = { PORTCULLIS_API_KEY: 'pcl_x', PORTCULLIS_URL: `http://127.0.0.1:${port}` };
  return { requests, env, run: (...args: readonly string[]) => session.run(args, env) };
}

test('drops prints totals, the minute with the most drops, and samples', async (t) => {
  const { run, requests } = await apiOf(t, 200, DROPS);
  const { code, out, err } = await run('drops', '203.0.113.10', '--edge', 'fra1', '--from', '2h');
  assert.deepEqual([code, err], [0, '']);
  assert.match(out, /203\.0\.113\.10: 1205192 packets/);
  assert.match(out, /policy +denied +xdp +1204882 +77112448/);
  assert.match(
    out,
    /and of the whole of 203\.0\.113\.0\/24: 902 packets .*policy baseline \(xdp\)/,
  );
  assert.match(out, /observing mitigations would have dropped 4711 packets \(282660 bytes\)/);
  assert.match(out, /minute with the most drops: 2026-11-2\d \d\d:\d\d:00, 1205192 packets/);
  assert.match(out, /fra1 +198\.51\.100\.7:53 +27015 +udp +64 +eth0/);
  const url = new URL(requests[0]?.url ?? '', 'http://x');
  assert.equal(url.pathname, '/api/x1/firewall/ips/203.0.113.10/drops');
  assert.equal(url.searchParams.get('edge'), 'fra1');
  const ago = Date.now() - Date.parse(url.searchParams.get('from') ?? '');
  assert.ok(ago >= 7_200_000 && ago < 7_260_000, String(ago));
});

test('drops --json prints one document, and with --watch one line per response', async (t) => {
  const { run, env } = await apiOf(t, 200, DROPS);
  assert.deepEqual(JSON.parse((await run('drops', '203.0.113.10', '--json')).out), DROPS);
  const watch = ['drops', '203.0.113.10', '--json', '--watch'];
  const watching = new RunningCommand(watch, { PATH: process.env['PATH'], ...env });
  const [line = ''] = (await watching.prints(/\n/)).split('\n');
  await watching.stop();
  assert.deepEqual(JSON.parse(line), DROPS);
});

test('an error of control exits with 1 and its text, an invalid time with 2', async (t) => {
  const { run } = await apiOf(t, 404, { detail: 'Nobody of yours holds this address.' });
  const refused = await run('drops', '203.0.113.99');
  assert.deepEqual([refused.code, refused.out], [1, '']);
  assert.match(refused.err, /Nobody of yours/);
  assert.equal((await run('drops', '203.0.113.99', '--from', '99h')).code, 2);
});

test('drops --watch prints only new drops', () => {
  assert.equal(newDrops(null, DROPS).length, 3);
  assert.deepEqual(newDrops(DROPS, DROPS), []);
  const [total, ...others] = DROPS.data.totals;
  assert.ok(total !== undefined);
  const grown = { ...total, packets: total.packets + 12 };
  const later = { ...DROPS, data: { ...DROPS.data, totals: [grown, ...others] } };
  assert.deepEqual(newDrops(DROPS, later), [
    `${localTime(DROPS.meta.to)}  +12 packets  policy denied (xdp)`,
  ]);
});

test('explain prints the accepted verdict, the verdict of each edge, and their differences', async (t) => {
  const { run, requests } = await apiOf(t, 200, EXPLANATION);
  const packet = ['--protocol', 'udp', '--port', '19', '--from', '198.51.100.7'];
  const { code, out } = await run('explain', '203.0.113.10', ...packet);
  assert.equal(code, 0);
  assert.equal(requests[0]?.url, '/api/x1/firewall/ips/203.0.113.10/explain');
  assert.match(out, /^drop$/m);
  assert.match(
    out,
    /ams1 +drop +1208 +stage: rules, decided by group_rule 12 +accepted +undisturbed/,
  );
  assert.match(out, /fra1 +no answer/);
  assert.match(out, /fra1 did not answer/);
  assert.match(out, /filters +no-greeting +xdp +48211/);
});

test('firewall block names sources, target, note and end, and prints the message', async (t) => {
  const message = '1 source was blocked on 203.0.113.10.';
  const { run, requests } = await apiOf(t, 200, { data: { changed: 1 }, message });
  const block = ['firewall', 'block', '192.0.2.7', '--on', '203.0.113.10', '--for', '2h'];
  assert.deepEqual(await run(...block), { code: 0, out: `${message}\n`, err: '' });
  await run('firewall', 'unblock', '192.0.2.7');
  assert.deepEqual(
    requests.map(({ method, url }) => `${method} ${url}`),
    ['POST /api/x1/firewall/blocked', 'DELETE /api/x1/firewall/blocked'],
  );
  assert.equal((await run('firewall', 'block', '192.0.2.7', '--for', 'soon')).code, 2);
});

test('with --json an error is one JSON line, and wrong input exits with 2', async (t) => {
  const { run } = await apiOf(t, 422, { code: 'invalid_request', detail: 'The port is taken.' });
  const packet = ['explain', '203.0.113.10', '--protocol', 'udp', '--from', '192.0.2.1'];
  const refused = await run(...packet, '--json');
  assert.deepEqual(JSON.parse(refused.err), {
    error: { message: 'The port is taken.', exit_code: 2, code: 'invalid_request' },
  });
  assert.deepEqual([refused.code, refused.out], [2, '']);
  const unknown = await run(...packet, '--json', '--colour');
  assert.equal((JSON.parse(unknown.err) as { error: { exit_code: number } }).error.exit_code, 2);
  const high = await run(...packet, '--port', '70000');
  assert.match(high.err, /--port 70000 is not from 0 to 65535/);
});

test('attacks cancel and servers reinstall work with a key', async (t) => {
  const answer = { data: { generation: 7 }, message: 'Accepted.' };
  const { run } = await apiOf(t, 200, answer);
  assert.equal((await run('attacks', 'cancel', '311')).out, 'Accepted.\n');
  const uuid = '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11';
  const { out } = await run('servers', 'reinstall', uuid, '--json');
  assert.deepEqual(JSON.parse(out), answer);
});

test('a table fits the terminal', async () => {
  const script = `
    Object.assign(process.stdout, { isTTY: true, columns: 40 });
    const { printTable } = await import(${JSON.stringify(join(import.meta.dirname, 'output.ts'))});
    await printTable(['NAME', 'WORDS'], [['fra1', 'word '.repeat(30)], ['x'.repeat(30), 'y']]);`;
  const ran = spawnSync(process.execPath, ['--input-type=module', '--eval', script]);
  const lines = ran.stdout.toString().split('\n');
  assert.ok(lines.length > 4, ran.stderr.toString());
  for (const line of lines) assert.ok(line.length <= 40, line);
});

test("operator calls an operation of the operator's API by its name", async (t) => {
  const { run, requests } = await apiOf(t, 200, { data: [{ slug: 'acme' }] });
  const listed = await run('operator', '--json');
  const names = (JSON.parse(listed.out) as { data: { operation: string }[] }).data;
  assert.ok(names.some(({ operation }) => operation === 'createServer'));
  const found = await run('operator', 'listOrganisations', 'external_id=whmcs-17');
  assert.deepEqual([found.code, JSON.parse(found.out)], [0, { data: [{ slug: 'acme' }] }]);
  const body = join(tmpdir(), `operator-${process.pid}.json`);
  writeFileSync(body, '{"name":"panel","abilities":["firewall.read"]}');
  t.after(() => rmSync(body));
  const made = [
    'operator',
    'createOrganisationKey',
    'organisation=acme',
    '--body',
    body,
    '--once',
    'o-1',
  ];
  assert.equal((await run(...made)).code, 0);
  assert.deepEqual(
    requests.map(({ method, url, headers }) => [method, url, headers['idempotency-key']]),
    [
      ['GET', '/api/operator/organisations?external_id=whmcs-17', undefined],
      ['POST', '/api/operator/organisations/acme/keys', 'o-1'],
    ],
  );
  for (const [args, pattern] of [
    [['nothing'], /no operation nothing/],
    [['suspendServer'], /needs uuid=/],
    [['listOrganisations', 'acme'], /no NAME=VALUE/],
  ] as const) {
    const { code, err } = await run('operator', ...args);
    assert.equal(code, 2);
    assert.match(err, pattern);
  }
});
