import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { require } from '@portcullis/lab/requirements.ts';
import { Journal } from '../journal/journal.ts';
import { NEW_RECORD } from '../journal/record.ts';
import { uuidOf } from '../testing/eggs.ts';
import { serverFolder } from './folder.ts';
import { giveFolder, NotGiven, SHARED_UID } from './give.ts';
import { ServerFolders } from './server-folders.ts';

const log = { debug() {}, info() {}, warn() {}, error() {} };
const RANGE = { first: 700_000, last: 700_099 };
const OTHER_UID = 12_345;
const UUID = uuidOf(1);
const NEVER = new AbortController().signal;

interface Place {
  readonly stateDir: string;
  readonly journal: Journal;
  /** Begins as an agent that starts. */
  begin(range?: typeof RANGE | null): ServerFolders;
}

function place(t: TestContext): Place {
  const stateDir = mkdtempSync(join(tmpdir(), 'pcl-folders-'));
  t.after(() => rmSync(stateDir, { recursive: true, force: true }));
  // As earlier versions made it.
  chmodSync(stateDir, 0o711);
  const journal = new Journal(stateDir, log);
  const begin: Place['begin'] = (accounts = RANGE) =>
    new ServerFolders({ stateDir, journal: new Journal(stateDir, log), accounts, log });
  return { stateDir, journal, begin };
}

/** A server's folder as earlier versions left it. */
function oldFolder(stateDir: string, uuid = UUID): string {
  const folder = serverFolder(stateDir, uuid);
  mkdirSync(join(folder, 'world'), { recursive: true, mode: 0o755 });
  writeFileSync(join(folder, 'world/level.dat'), 'castle');
  writeFileSync(join(folder, 'server.properties'), 'rcon.password=topsecret');
  execFileSync('chown', ['-R', `${SHARED_UID}:${SHARED_UID}`, folder]);
  return folder;
}

function mayStat(path: string): boolean {
  const account = ['--reuid', String(OTHER_UID), '--regid', String(OTHER_UID), '--clear-groups'];
  return spawnSync('setpriv', [...account, 'stat', path], { stdio: 'ignore' }).status === 0;
}

it('closes the folders of an earlier version to other accounts as soon as the node starts', (t) => {
  if (!require(t, ['root'])) return;
  const { stateDir, begin } = place(t);
  const folder = oldFolder(stateDir);
  assert.equal(mayStat(join(folder, 'server.properties')), true);
  begin();
  assert.equal(mayStat(join(folder, 'server.properties')), false);
  assert.equal(mayStat(folder), false);
  assert.equal(lstatSync(folder).uid, SHARED_UID, 'a running server keeps its account');
});

it('moves a server of the shared account to its own before its start, once, and says so', async (t) => {
  if (!require(t, ['root'])) return;
  const { stateDir, begin } = place(t);
  const folder = oldFolder(stateDir);
  writeFileSync(join(folder, 'helper'), '');
  chmodSync(join(folder, 'helper'), 0o4755);
  const first = await begin().prepare(UUID, NEVER);
  const uid = first.owner?.uid ?? 0;
  assert.ok(uid >= RANGE.first && uid <= RANGE.last);
  assert.match(first.notice ?? '', /belonged to uid 25565 and now belong to .* uid 7000\d\d/);
  assert.match(first.notice ?? '', /1 set-user-id/);
  for (const name of ['.', 'world', 'world/level.dat', 'server.properties', 'helper'])
    assert.equal(lstatSync(join(folder, name)).uid, uid, name);
  assert.equal(lstatSync(folder).mode & 0o7777, 0o700);
  for (const folders of [begin(), begin()])
    assert.deepEqual(await folders.prepare(UUID, NEVER), {
      folder,
      owner: { uid, gid: uid },
      notice: null,
    });
});

it('continues a move in the middle of which the agent was killed', async (t) => {
  if (!require(t, ['root'])) return;
  const { stateDir, journal, begin } = place(t);
  const folder = oldFolder(stateDir);
  const uid = RANGE.first + 7;
  await journal.saveAccount(UUID, { uid, settled: false });
  // An install may have made the folder look as if it was done.
  chownSync(folder, uid, uid);
  const cancelled = AbortSignal.abort(new Error('cancelled'));
  await assert.rejects(begin().prepare(UUID, cancelled), /^Error: cancelled$/);
  assert.equal(lstatSync(join(folder, 'world/level.dat')).uid, SHARED_UID);
  await begin().prepare(UUID, NEVER);
  assert.equal(lstatSync(join(folder, 'world/level.dat')).uid, uid);
});

it('gives no two servers one account, nor that of a folder that is kept', async (t) => {
  if (!require(t, ['root'])) return;
  const { stateDir, journal, begin } = place(t);
  const owners = new Map<string, number>();
  let folders = begin();
  for (let number = 1; number <= 60; number += 1) {
    const { owner } = await folders.prepare(uuidOf(number), NEVER);
    owners.set(uuidOf(number), owner?.uid ?? 0);
  }
  assert.equal(new Set(owners.values()).size, 60);
  // The journal of accounts is lost, and one folder is gone.
  for (const uuid of owners.keys()) journal.removeAccount(uuid);
  rmSync(serverFolder(stateDir, uuidOf(60)), { recursive: true });
  folders = begin();
  const next = [];
  for (let number = 61; number <= 100; number += 1)
    next.push((await folders.prepare(uuidOf(number), NEVER)).owner?.uid);
  const kept = [...owners].filter(([uuid]) => uuid !== uuidOf(60)).map(([, uid]) => uid);
  assert.ok(next.every((uid) => uid !== undefined && !kept.includes(uid)));
  assert.equal(new Set(next).size, 40);
  // That of the folder that is gone.
  await folders.prepare(uuidOf(101), NEVER);
  await assert.rejects(folders.prepare(uuidOf(102), NEVER), {
    code: 'refused',
    message: /--accounts/,
  });
});

it('keeps the account of a removed server for as long as there is a folder of it', async (t) => {
  if (!require(t, ['root'])) return;
  const { stateDir, journal, begin } = place(t);
  await begin().prepare(UUID, NEVER);
  begin();
  assert.equal(journal.loadAccounts().size, 1);
  rmSync(serverFolder(stateDir, UUID), { recursive: true });
  await journal.saveRecord(UUID, NEW_RECORD);
  begin();
  assert.equal(journal.loadAccounts().size, 1, 'it is assigned');
  await journal.removeRecord(UUID);
  begin();
  assert.equal(journal.loadAccounts().size, 0);
});

it('sets the folder aside when an install left what cannot be given to the server', async (t) => {
  const { stateDir, journal, begin } = place(t);
  const folders = begin(process.getuid?.() === 0 ? RANGE : null);
  const installed = folders.install(UUID, async (folder) => {
    writeFileSync(join(folder, 'rootsh'), '');
    chmodSync(join(folder, 'rootsh'), 0o4755);
    await giveFolder(folder, { owner: { uid: 0, gid: 0 }, maxDepth: 0 });
  });
  await assert.rejects(installed, {
    code: 'refused',
    message: /cannot be given to the server.*moved to .*\.quarantined-1, where only/,
  });
  assert.equal(existsSync(serverFolder(stateDir, UUID)), false);
  assert.deepEqual(readdirSync(join(stateDir, 'servers')), [`${UUID}.quarantined-1`]);
  assert.notEqual(journal.loadAccounts().get(UUID)?.settled, true);
  assert.deepEqual(readdirSync((await folders.prepare(UUID, NEVER)).folder), []);
  const again = folders.install(UUID, async () => {
    throw new NotGiven('Again.');
  });
  await assert.rejects(again, { message: /quarantined-2/ });
});

it('lets no server start with what an unfinished install left', async (t) => {
  if (!require(t, ['root'])) return;
  const { begin } = place(t);
  const folders = begin();
  const { folder } = await folders.prepare(UUID, NEVER);
  const killed = folders.install(UUID, async () => {
    writeFileSync(join(folder, 'rootsh'), '');
    chmodSync(join(folder, 'rootsh'), 0o4755);
    throw new Error('the engine is gone');
  });
  await assert.rejects(killed, /the engine is gone/);
  const { owner } = await begin().prepare(UUID, NEVER);
  const { uid, mode } = lstatSync(join(folder, 'rootsh'));
  assert.deepEqual([uid, mode & 0o7777], [owner?.uid, 0o755]);
});

it('needs no accounts where the agent is not root', async (t) => {
  const { stateDir, journal, begin } = place(t);
  const { folder, owner, notice } = await begin(null).prepare(UUID, NEVER);
  assert.deepEqual([owner, notice], [null, null]);
  assert.equal(lstatSync(folder).mode & 0o7777, 0o700);
  assert.equal(lstatSync(join(stateDir, 'servers')).mode & 0o7777, 0o700);
  assert.equal(journal.loadAccounts().size, 0);
});
