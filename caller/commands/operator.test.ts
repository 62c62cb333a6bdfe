import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { RunningCommand } from '@portcullis/cli/testing/run.ts';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';

const MAIN = join(import.meta.dirname, '..', 'main.ts');
const DOCS = join(import.meta.dirname, '..', '..', 'docs', 'operator-api.md');

/** A shell with `portcullis` and a key of the operator. */
async function startShell(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-operator-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const world = await startEnvironment(t);
  const abilities = ['operator.read', 'operator.manage'];
  const operator = await world.client({ organisationId: null, abilities });
  const key = (operator.authorization ?? '').replace('Bearer ', '');
  const shim = join(folder, 'portcullis');
  writeFileSync(shim, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`, { mode: 0o755 });
  const env = { PATH: `${folder}:${process.env['PATH']}`, HOME: folder };
  const access = `export PORTCULLIS_API_KEY=${key} PORTCULLIS_URL=${world.url}\n`;
  const shell = async (script: string) => {
    const child = spawn('bash', ['-e', '-o', 'pipefail', '-c', `${access}${script}`], { env });
    child.stdin.end();
    return new RunningCommand([], env, child).end();
  };
  return { world, shell };
}

/** The block of commands below "An order", but for the line that names the key. */
function orderOfDocs(): string {
  const [, block = ''] =
    /## An order\n[^]*?```sh\n([^]*?)```/.exec(readFileSync(DOCS, 'utf8')) ?? [];
  return block.replace(/^export .*\n/m, '');
}

test('the order of the docs works as it stands there', { timeout: 120_000 }, async (t) => {
  const { world, shell } = await startShell(t);
  const [node = '', rest = ''] = orderOfDocs().split(/(?=^echo '\{"name": "Hive")/m);
  assert.match(node, /saveNode/);
  const offered = await shell(node);
  assert.equal(offered.code, 0, offered.err);
  // The agent of the node connects, which is no command of the order.
  await world.db
    .updateTable('nodes')
    .set({
      last_seen_at: new Date(),
      engine: JSON.stringify({ kind: 'docker', version: '27', problem: null }),
    })
    .where('name', '=', 'node-1')
    .execute();
  const ordered = await shell(`${node}${rest}`);
  assert.equal(ordered.code, 0, ordered.err);
  const rows = await world.db
    .selectFrom('game_servers as g')
    .innerJoin('organisations as o', 'o.id', 'g.organisation_id')
    .select('g.name')
    .where('o.slug', '=', 'hive')
    .execute();
  assert.deepEqual(rows, [{ name: 'Survival' }]);
  const upgraded = await shell(`
    uuid=$(portcullis operator listServers organisation=hive --json | sed -n 's/.*"uuid": *"\\([^"]*\\)".*/\\1/p')
    echo '{"limits": {"swap": 512}}' | portcullis operator changeServer uuid=$uuid --body -`);
  assert.equal(upgraded.code, 0, upgraded.err);
  const { data } = JSON.parse(upgraded.out) as { data: { limits: object } };
  assert.partialDeepStrictEqual(data.limits, { memory: 2_048, cpu: 200, disk: 8_192, swap: 512 });
});

test('prints one shape, and tells a full fleet from a typo', { timeout: 120_000 }, async (t) => {
  const { shell } = await startShell(t);
  await shell(`echo '{"name": "Hive"}' | portcullis operator saveOrganisation slug=hive --body -
    echo '{"name": "lobby"}' | portcullis operator saveService organisation=hive id=900 --body -`);
  const make = (more: string) =>
    shell(
      `echo '{"prefix": "192.0.3.0/24"}' | portcullis operator createHolding organisation=hive --body - ${more}`,
    );
  for (const more of ['', '--json']) {
    const made = await make(`--once holding ${more}`);
    const { data } = JSON.parse(made.out) as { data: { id: number } };
    assert.ok(data.id > 0);
  }
  const twice = await make('');
  assert.equal(twice.code, 1, twice.err);
  assert.match(twice.err, /^portcullis: 192\.0\.3\.0\/24 is hive's since .*at the same time\.\n$/);
  const server = (memory: string) =>
    shell(`echo '{"organisation": "hive", "service": 900, "name": "S", "egg": "eggs/flying-squid.json",
      "limits": {"memory": ${memory}, "cpu": 100, "disk": 1024}}' | portcullis operator createServer --body - --json`);
  const full = await server('1024');
  const { error } = JSON.parse(full.err) as { error: Record<string, unknown> };
  assert.deepEqual([full.code, error['exit_code'], error['code']], [1, 1, 'no_capacity']);
  const typo = await server('"much"');
  assert.equal(typo.code, 2, typo.err);
  assert.doesNotMatch(typo.err, /\/limits/);
  const broken = await server('1024,\n,');
  assert.equal(broken.code, 2);
  assert.match(broken.err, /standard input is no JSON: unexpected content in line 3, column 1/);
});
