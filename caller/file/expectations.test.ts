import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { CommandSession } from '@portcullis/cli/testing/run.ts';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';

const IP = '203.0.113.10';

async function startPlace(t: TestContext) {
  const home = mkdtempSync(join(tmpdir(), 'portcullis-file-'));
  const world = await startEnvironment(t);
  await world.db.updateTable('organisations').set({ requests_per_minute: 1_000_000 }).execute();
  const session = new CommandSession({ PATH: process.env['PATH'], HOME: home, TZ: 'UTC' });
  t.after(async () => {
    await session.close();
    rmSync(home, { recursive: true, force: true });
  });
  const key = (world.acme.authorization ?? '').replace('Bearer ', '');
  const env = { PORTCULLIS_URL: world.url, PORTCULLIS_API_KEY: key };
  const path = join(home, 'rules.yaml');
  return {
    world,
    path,
    run: (...args: readonly string[]) => session.run(args, env),
    write: (text: string) => writeFileSync(path, text),
  };
}

const FILE = `addresses:
  ${IP}:
    default: deny
    rules:
      - { action: allow, protocol: tcp, destination_port: "443" }
    expect: { pass: [tcp 443], drop: [tcp 22] }
`;

test('a file is refused whose result is not what it expects, and nothing is changed', async (t) => {
  const { run, write, path, world } = await startPlace(t);
  write(FILE.replace('pass: [tcp 443]', 'pass: [tcp 443, tcp 80]'));
  const apply = ['firewall', 'apply', '-f', path, '--yes'];
  for (const command of [['firewall', 'plan', '-f', path], apply]) {
    const { code, err } = await run(...command);
    assert.equal(code, 1, command.join(' '));
    assert.match(err, /not be what the file expects:\n +FAIL +203\.0\.113\.10: tcp 80 passes\n/);
  }
  assert.equal((await run('firewall', 'test', '-f', path)).code, 1);
  const { out } = await run('firewall', 'show', IP, '--json');
  assert.deepEqual((JSON.parse(out) as { data: { rules: unknown[] } }).data.rules, []);
  // A geo rule counts, which only control knows.
  await world.session('owner').post('/api/portal/organisations/acme/geo-rules', {
    action: 'only',
    countries: ['XX'],
    asns: [],
    targets: [IP],
  });
  write(FILE);
  const closed = await run(...apply);
  assert.equal(closed.code, 1);
  assert.match(closed.err, /tcp 443 passes\n +from anywhere: Closed to everyone: geo rule 1/);
  await world.session('owner').delete('/api/portal/organisations/acme/geo-rules/1', undefined);
  assert.equal((await run(...apply)).code, 0);
});

test('a plan as JSON has its changes in fields', async (t) => {
  const { run, write, path } = await startPlace(t);
  write(`addresses:
  ${IP}:
    default: deny
    rules: [{ action: allow, protocol: tcp, destination_port: "80,443", source_ip: 198.51.100.0/24 }]
    filters: [{ type: udp-stateful, port: "27015-27016" }]
    blocked: [192.0.2.7]
`);
  const { out } = await run('firewall', 'plan', '-f', path, '--json');
  const { data } = JSON.parse(out) as { data: { addresses: { changes: object[] }[] } };
  assert.deepEqual(data.addresses[0]?.changes, [
    {
      operation: 'add',
      effect: 'opens',
      kind: 'rule',
      action: 'allow',
      protocol: 'tcp',
      destination_port: '80,443',
      source_ip: '198.51.100.0/24',
      ref: null,
      expires_at: null,
      text: 'allow tcp 80,443 from 198.51.100.0/24',
    },
    {
      operation: 'add',
      effect: 'filters',
      kind: 'filter',
      type: 'udp-stateful',
      port: '27015-27016',
      text: 'udp-stateful 27015-27016: connections through it open again',
    },
    {
      operation: 'change',
      effect: 'closes',
      kind: 'default',
      from: 'accept',
      to: 'deny',
      text: 'default accept becomes deny',
    },
    {
      operation: 'add',
      effect: 'closes',
      kind: 'blocked',
      sources: ['192.0.2.7'],
      text: 'blocks 192.0.2.7',
    },
  ]);
});

test('show and export name what else drops packets', async (t) => {
  const { run, path } = await startPlace(t);
  await run('firewall', 'open', IP, 'tcp', '443');
  await run('firewall', 'block', '192.0.2.7');
  await run('firewall', 'block', '192.0.2.8', '--on', IP);
  const { out } = await run('firewall', 'show', IP);
  assert.match(out, /^blocked on everything: 192\.0\.2\.7$/m);
  assert.match(out, /^blocked on 203\.0\.113\.10: 192\.0\.2\.8$/m);
  await run('firewall', 'export', IP, '-f', path);
  await run('firewall', 'export', IP, '-f', path);
  const text = readFileSync(path, 'utf8');
  assert.equal(text.match(/set elsewhere: blocked on everything: 192\.0\.2\.7/g)?.length, 1, text);
  assert.match(text, /blocked:\n +- 192\.0\.2\.8/);
  const explained = await run('explain', IP, '--protocol', 'tcp', '--port', '443');
  assert.match(explained.out, /^open, but not to all\nOpen to most sources: rule 1/);
});
