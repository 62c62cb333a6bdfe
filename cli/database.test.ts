import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { runToEnd } from './testing/run.ts';

const LIMIT_MS = 30_000;

test('looking at a folder without a platform makes none there', async (t) => {
  const data = join(mkdtempSync(join(tmpdir(), 'portcullis-none-')), 'mistyped');
  t.after(() => rmSync(dirname(data), { recursive: true }));
  const env = { PATH: process.env['PATH'], HOME: tmpdir() };
  const commands = ['edges', 'nodes', 'collectors', 'keys'];
  const runs = commands.map((one) => runToEnd([one, 'list', '--data', data], env, LIMIT_MS));
  for (const { code, err } of await Promise.all(runs)) {
    assert.equal(code, 69);
    assert.match(err, /there is no Portcullis in .*mistyped: .* --data .* portcullis up/);
  }
  assert.equal(existsSync(data), false);
});

test('a database that is not there is named as such, with the exit code for what is not there now', async () => {
  const env = { PATH: process.env['PATH'], DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' };
  const { code, err } = await runToEnd(['edges', 'list'], env, LIMIT_MS);
  assert.equal(code, 69);
  assert.match(err, /the database cannot be reached now: .*ECONNREFUSED.*DATABASE_URL/);
});
