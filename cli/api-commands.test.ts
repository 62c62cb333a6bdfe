import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { DROPS, EXPLANATION } from '@portcullis/contract/operations/x1-examples.ts';
import { newDrops } from './commands/drops.ts';

const MAIN = join(import.meta.dirname, 'main.ts');

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** An API that answers every request alike, and what it was asked. */
async function apiOf(t: TestContext, status: number, body: object) {
  const asked: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    asked.push(request);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as { port: number };
  const run = (...args: readonly string[]): Promise<Ran> =>
    new Promise((resolve) => {
      const child = spawn(process.execPath, [MAIN, ...args], {
        env: {
          PATH: process.env['PATH'],
          HOME: tmpdir(),
          PORTCULLIS_API_KEY: 'pcl_x',
          PORTCULLIS_URL: `http://127.0.0.1:${port}`,
        },
        timeout: 30_000,
      });
      let [out, err] = ['', ''];
      child.stdout.on('data', (chunk: Buffer) => {
        out += chunk.toString();
        // A watcher runs until somebody interrupts it.
        if (args.includes('--watch') && out.includes('\n')) child.kill('SIGINT');
      });
      child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
      child.on('close', (code) => resolve({ code, out, err }));
    });
  return { asked, run };
}

test('drops are told in words: totals, the minute with the most drops and samples', async (t) => {
  const { run, asked } = await apiOf(t, 200, DROPS);
  const { code, out, err } = await run('drops', '203.0.113.10', '--edge', 'fra1', '--from', '2h');
  assert.deepEqual([code, err], [0, '']);
  assert.match(out, /203\.0\.113\.10: 1205192 packets/);
  assert.match(out, /policy +denied +xdp +1204882 +77112448/);
  assert.match(
    out,
    /and of the whole of 203\.0\.113\.0\/24: 902 packets .*policy baseline \(xdp\)/,
  );
  assert.match(out, /observing mitigations would have dropped 4711 packets \(282660 bytes\)/);
  assert.match(out, /minute with the most drops: 2026-11-21T02:00:00\+00:00, 1205192 packets/);
  assert.match(out, /fra1 +198\.51\.100\.7:53 +27015 +udp +64 +eth0/);
  const url = new URL(asked[0]?.url ?? '', 'http://x');
  assert.equal(url.pathname, '/api/x1/firewall/ips/203.0.113.10/drops');
  assert.equal(url.searchParams.get('edge'), 'fra1');
  const ago = Date.now() - Date.parse(url.searchParams.get('from') ?? '');
  assert.ok(ago >= 7_200_000 && ago < 7_260_000, String(ago));
});

test('with --json the answer is the whole of stdout, and with --watch one line a look', async (t) => {
  const { run } = await apiOf(t, 200, DROPS);
  assert.deepEqual(JSON.parse((await run('drops', '203.0.113.10', '--json')).out), DROPS);
  const [line = ''] = (await run('drops', '203.0.113.10', '--json', '--watch')).out.split('\n');
  assert.deepEqual(JSON.parse(line), DROPS);
});

test('a refusal of control is exit code 1 in its words, a time that is none 2', async (t) => {
  const { run } = await apiOf(t, 404, { detail: 'Nobody of yours holds this address.' });
  const refused = await run('drops', '203.0.113.99');
  assert.deepEqual([refused.code, refused.out], [1, '']);
  assert.match(refused.err, /Nobody of yours/);
  assert.equal((await run('drops', '203.0.113.99', '--from', '99h')).code, 2);
});

test('watching tells only what is new', () => {
  assert.equal(newDrops(null, DROPS).length, 3);
  assert.deepEqual(newDrops(DROPS, DROPS), []);
  const [total, ...others] = DROPS.data.totals;
  assert.ok(total !== undefined);
  const grown = { ...total, packets: total.packets + 12 };
  const later = { ...DROPS, data: { ...DROPS.data, totals: [grown, ...others] } };
  assert.deepEqual(newDrops(DROPS, later), [`${DROPS.meta.to}  +12 packets  policy denied (xdp)`]);
});

test('explain tells what every edge does beside what is accepted, and where they differ', async (t) => {
  const { run, asked } = await apiOf(t, 200, EXPLANATION);
  const packet = ['--protocol', 'udp', '--port', '19', '--from', '198.51.100.7'];
  const { code, out } = await run('explain', '203.0.113.10', ...packet);
  assert.equal(code, 0);
  assert.equal(asked[0]?.url, '/api/x1/firewall/ips/203.0.113.10/explain');
  assert.match(out, /^drop$/m);
  assert.match(
    out,
    /ams1 +drop +1208 +stage: rules, decided by group_rule 12 +accepted +undisturbed/,
  );
  assert.match(out, /fra1 +no answer/);
  assert.match(out, /fra1 did not answer/);
});
