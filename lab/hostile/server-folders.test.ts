import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { Journal } from '@portcullis/node/journal/journal.ts';
import type { AccountRange } from '@portcullis/node/server-folder/account-range.ts';
import { Accounts } from '@portcullis/node/server-folder/accounts.ts';
import { NotGiven } from '@portcullis/node/server-folder/give.ts';
import { ServerFolders } from '@portcullis/node/server-folder/server-folders.ts';
import { uuidOf } from '@portcullis/node/testing/eggs.ts';

const log = { debug() {}, info() {}, warn() {}, error() {} };
const RANGE = { first: 200_000, last: 200_099 };
const UUID = uuidOf(1);

function place(t: TestContext): string {
  const stateDir = mkdtempSync(join(tmpdir(), 'pcl-enemy-folders-'));
  t.after(() => rmSync(stateDir, { recursive: true, force: true }));
  return stateDir;
}

test('a person to whom the host gives the accounts of servers later has none of a server after its next start', async (t) => {
  const journal = new Journal(place(t), log);
  // As `useradd` writes /etc/subuid: the third person of a host gets 231072 and more, the second one 165536 to 231071.
  const taken: AccountRange[] = [];
  const accounts = new Accounts({
    journal,
    range: RANGE,
    ownersOfOthers: () => [],
    isGone: () => false,
    readTaken: () => taken,
  });
  const before = await accounts.of(UUID);
  await accounts.setSettled(UUID, true);
  assert.deepEqual(await accounts.of(UUID), before);

  taken.push({ first: before.uid, last: before.uid });
  const after = await accounts.of(UUID);
  assert.notEqual(after.uid, before.uid);
  assert.equal(accounts.isSettled(UUID), false, 'its files are given to the other account');
  assert.equal(journal.loadAccounts().get(UUID)?.uid, after.uid);

  taken.push({ first: 100_000, last: 300_000 });
  await assert.rejects(accounts.of(UUID), { code: 'refused', message: /--accounts/ });
});

test('an install that is set aside each time fills no disk', async (t) => {
  const stateDir = place(t);
  const journal = new Journal(stateDir, log);
  const accounts = process.getuid?.() === 0 ? RANGE : null;
  const folders = new ServerFolders({ stateDir, journal, accounts, log });
  let runs = 0;
  const install = (uuid: string): Promise<void> =>
    folders.install(uuid, async () => {
      runs += 1;
      throw new NotGiven('It is hostile.');
    });
  for (let build = 1; build <= 5; build += 1)
    await assert.rejects(install(UUID), { code: 'refused', message: /purge|moved/ });
  assert.equal(runs, 2);
  const names = [`${UUID}.quarantined-1`, `${UUID}.quarantined-2`];
  assert.deepEqual(readdirSync(join(stateDir, 'servers')).toSorted(), names);
  await assert.rejects(install(UUID), { message: /nodes purge .*\.quarantined-1 --yes/ });

  // Other servers, and one that the operator purged, are built.
  await assert.rejects(install(uuidOf(2)), { message: /moved/ });
  rmSync(join(stateDir, 'servers', `${UUID}.quarantined-1`), { recursive: true });
  await assert.rejects(install(UUID), { message: /moved/ });
});
