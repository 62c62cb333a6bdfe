import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  recordOngoing,
  respondTo,
  standingKinds,
} from '@portcullis/control/attacks/mitigations/testing.ts';
import { testDatabase } from '@portcullis/control/db/testing.ts';
import { insertHolding, insertOrganisation } from '@portcullis/control/fleet/testing.ts';

const MAIN = join(import.meta.dirname, 'main.ts');

function portcullis(url: string, ...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: tmpdir(), DATABASE_URL: url },
    timeout: 30_000,
  });
  return { code: status, out: stdout, err: stderr };
}

test('an operator withdraws what is done against an attack, once, and is told where there is none', async (t) => {
  const { db, url } = await testDatabase(t);
  await insertHolding(db, await insertOrganisation(db, 'acme'), '203.0.113.0/24');
  const heard = await recordOngoing(db, '203.0.113.10', 'dns_amplification');
  await respondTo(db, heard);
  const id = String(heard.attackId);
  const cancelled = portcullis(url, 'attacks', 'cancel', id);
  assert.equal(cancelled.code, 0, cancelled.err);
  assert.match(cancelled.out, /on 203\.0\.113\.10\/32 are withdrawn by generation 2/);
  assert.deepEqual(await standingKinds(db, heard.attackId), []);
  const again = portcullis(url, 'attacks', 'cancel', id, '--json');
  assert.deepEqual(JSON.parse(again.out), {
    attack: heard.attackId,
    subject: '203.0.113.10/32',
    generation: null,
  });
  const unknown = portcullis(url, 'attacks', 'cancel', '4711');
  assert.equal(unknown.code, 1);
  assert.match(unknown.err, /there is no attack 4711/);
  for (const bad of ['x', '-1', '1e3', '0', '99999999999999999999']) {
    assert.equal(portcullis(url, 'attacks', 'cancel', '--', bad).code, 2, bad);
  }
});
