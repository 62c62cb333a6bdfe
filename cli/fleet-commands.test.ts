import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { testDatabase } from '@portcullis/control/db/testing.ts';
import { quote } from './installation/command-line.ts';
import { CommandSession } from './testing/run.ts';

const MAIN = join(import.meta.dirname, 'main.ts');
const home = mkdtempSync(join(tmpdir(), 'pcl-fleet-'));
const session = new CommandSession({ PATH: process.env['PATH'], HOME: home });
after(async () => {
  await session.close();
  rmSync(home, { recursive: true });
});

const FILE = join(home, 'fleet.yaml');
const FLEET = 'organisations: { acme: { name: Acme } }\nedges: [{ name: fra1, devices: [eth0] }]\n';

test('a fleet file deletes nothing by accident, and what it changed can be undone', async (t) => {
  const { url } = await testDatabase(t);
  const fleet = (...args: readonly string[]) =>
    session.run(['fleet', ...args], { DATABASE_URL: url });
  writeFileSync(FILE, '# nothing\n');
  const empty = await fleet('apply', FILE, '--force');
  assert.deepEqual([empty.code, empty.out], [1, '']);
  assert.match(empty.err, /fleet\.yaml names nothing\. .* it is refused/);

  writeFileSync(FILE, FLEET);
  const planned = await fleet('plan', FILE, '--detailed-exitcode');
  assert.equal(planned.code, 3, planned.err);
  assert.match(planned.out, /\nPlan: 2 to create, 0 to change, 0 to remove\.\n$/);
  const applied = await fleet('apply', FILE);
  assert.match(applied.out, /\nApplied: 2 created, 0 changed, 0 removed\.\n$/);
  const same = await fleet('plan', FILE, '--detailed-exitcode');
  assert.deepEqual([same.code, same.out], [0, 'Nothing to change.\n']);
  assert.match((await fleet('undo')).err, /there is nothing to undo/);

  writeFileSync(FILE, 'nodes: [{ name: n1 }]\n');
  const refused = await fleet('apply', FILE);
  assert.equal(refused.code, 1);
  assert.match(refused.err, /edge fra1 is the last one: nothing would be enforced/);
  assert.match(
    refused.err,
    /To apply it all the same: \S*portcullis fleet apply .*fleet\.yaml --force/,
  );
  assert.equal((await fleet('apply', FILE, '--force')).code, 0);
  const undone = await fleet('undo');
  assert.equal(undone.code, 0, undone.err);
  assert.match(undone.out, /^Back to .*fleet\.yaml as applied at .*\n\+ edge fra1/);
});

test('a plan that would be refused does not say that nothing is to change', async (t) => {
  const { url, db } = await testDatabase(t);
  const fleet = (...args: readonly string[]) =>
    session.run(['fleet', ...args], { DATABASE_URL: url });
  writeFileSync(FILE, FLEET);
  assert.equal((await fleet('apply', FILE)).code, 0);
  await db.updateTable('edges').set({ owner: 'portal' }).execute();
  const planned = await fleet('plan', FILE);
  assert.deepEqual([planned.code, planned.out], [1, '']);
  assert.match(planned.err, /edge fra1 was made by hand.*--adopt/);
});

test('an export is a fleet file with nothing to change, and replaces a file only by --force', async (t) => {
  const { url, db } = await testDatabase(t);
  const fleet = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    session.run(['fleet', ...args], { DATABASE_URL: url, ...env });
  const hook = 'responders: [{ name: hook, webhook: "https://a.example/x", secret: hush }]\n';
  writeFileSync(FILE, FLEET + hook);
  assert.equal((await fleet(['apply', FILE])).code, 0);
  await db.updateTable('edges').set({ owner: 'portal', site: 'elsewhere' }).execute();
  const printed = await fleet(['export']);
  assert.equal(printed.code, 0, printed.err);
  assert.match(printed.err, /set RESPONDER_HOOK_SECRET before you plan or apply the file/);
  assert.match(printed.out, /\n {2}- \{ name: fra1, site: elsewhere, devices: \[eth0\] \}\n/);
  assert.ok(!printed.out.includes('hush'));

  const refused = await fleet(['export', '--out', FILE]);
  assert.deepEqual([refused.code, readFileSync(FILE, 'utf8')], [1, FLEET + hook]);
  assert.match(refused.err, /fleet\.yaml is there already: .* --force/);
  assert.equal((await fleet(['export', '--force'])).code, 2);
  const out = join(home, 'exported.yaml');
  assert.equal((await fleet(['export', '--out', out])).code, 0);
  assert.equal((await fleet(['export', '--out', FILE, '--force'])).code, 0);
  for (const file of [out, FILE]) {
    assert.deepEqual(
      [readFileSync(file, 'utf8'), statSync(file).mode & 0o777],
      [printed.out, 0o600],
    );
  }
  assert.deepEqual(
    readdirSync(home).filter((name) => name.endsWith('.part')),
    [],
  );

  const unset = await fleet(['apply', out, '--adopt']);
  assert.equal(unset.code, 1);
  assert.match(unset.err, /RESPONDER_HOOK_SECRET is not set/);
  const secret = { RESPONDER_HOOK_SECRET: 'hush' };
  const planned = await fleet(['plan', out, '--adopt', '--detailed-exitcode'], secret);
  assert.deepEqual([planned.code, planned.out], [0, 'Nothing to change.\n'], planned.err);
  assert.equal((await fleet(['apply', out, '--adopt'], secret)).out, 'Nothing to change.\n');
  assert.equal((await fleet(['plan', out, '--detailed-exitcode'], secret)).code, 0);
});

test('asks on a terminal before it applies anything', async (t) => {
  const { url } = await testDatabase(t);
  writeFileSync(FILE, FLEET);
  const onTerminal = (
    answer: string,
  ): { readonly code: number | null; readonly output: string } => {
    const words = [process.execPath, MAIN, 'fleet', 'apply', FILE];
    const command = words.map(quote).join(' ');
    const ran = spawnSync('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
      input: answer,
      env: { ...process.env, DATABASE_URL: url, HOME: home },
    });
    return { code: ran.status, output: ran.stdout.toString() };
  };
  const declined = onTerminal('n\n');
  assert.match(declined.output, /Plan: 2 to create, 0 to change, 0 to remove\. Apply\? \[y\/N\]/);
  assert.match(declined.output, /nothing was changed/);
  assert.equal(declined.code, 1);
  const agreed = onTerminal('y\n');
  assert.match(agreed.output, /Applied: 2 created, 0 changed, 0 removed\./);
  assert.equal(agreed.code, 0);
});
