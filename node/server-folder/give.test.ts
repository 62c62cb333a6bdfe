import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { require } from '@portcullis/lab/requirements.ts';
import { type Gift, giveFolder, NotGiven, SHARED_UID } from './give.ts';

const IS_ROOT = process.getuid?.() === 0;
/** The owner: without root a file can be given to nobody else. */
const OWNER = IS_ROOT
  ? { uid: 234_567, gid: 234_567 }
  : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

/** A server's folder, and a place outside of it on the same file system. */
function folders(t: TestContext): { readonly folder: string; readonly outside: string } {
  const home = mkdtempSync(join(tmpdir(), 'pcl-give-'));
  t.after(() => execFileSync('rm', ['-rf', home]));
  const [folder, outside] = [join(home, 'server'), join(home, 'outside')];
  for (const path of [folder, outside]) mkdirSync(path, { mode: 0o755 });
  return { folder, outside };
}

const give = (folder: string, more: Partial<Gift> = {}) =>
  giveFolder(folder, { owner: OWNER, ...more });

/** Owners by a program that knows no limit of paths: `uid gid mode` of everything in the folder, once each. */
function ownersIn(folder: string): string[] {
  const text = execFileSync('find', [folder, '-printf', '%U %G\n'], { encoding: 'utf8' });
  return [...new Set(text.trim().split('\n'))];
}

const setIdIn = (folder: string): string =>
  execFileSync('find', [folder, '-perm', '/6000', '-print'], { encoding: 'utf8' });

it('gives every kind of entry to the account, without following a link', async (t) => {
  const { folder, outside } = folders(t);
  const secret = join(outside, 'secret');
  writeFileSync(secret, 'x', { mode: 0o640 });
  mkdirSync(join(folder, 'a/b'), { recursive: true });
  for (const name of ['file', 'a/file', 'a/b/file']) writeFileSync(join(folder, name), name);
  writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff, 0xfe])]), 'no UTF-8');
  symlinkSync(secret, join(folder, 'a/link'));
  symlinkSync(outside, join(folder, 'a/folder'));
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  const server = createServer().listen(join(folder, 'socket'));
  t.after(() => server.close());
  await once(server, 'listening');
  const before = lstatSync(secret);
  assert.deepEqual(await give(folder), { cleared: 0, removed: 0, copied: 0 });
  assert.deepEqual(ownersIn(folder), [`${OWNER.uid} ${OWNER.gid}`]);
  assert.equal(lstatSync(folder).mode & 0o7777, 0o700);
  assert.deepEqual([lstatSync(secret).uid, lstatSync(outside).uid], [before.uid, before.uid]);
  assert.equal(readlinkSync(join(folder, 'a/link')), secret);
});

it('leaves no set-user-id or set-group-id bit, however the folder is nested', async (t) => {
  const { folder } = folders(t);
  // Paths of 45 names of 92 letters are longer than the kernel takes.
  execFileSync('sh', ['-c', DEEP, folder]);
  assert.ok(setIdIn(folder).split('\n').length > 40);
  const { cleared } = await give(folder);
  assert.equal(cleared, 2 * (45 + 1) + 1);
  assert.equal(setIdIn(folder), '');
  assert.deepEqual(ownersIn(folder), [`${OWNER.uid} ${OWNER.gid}`]);
});

const DEEP = `cd "$0"; mkdir top; chmod 2755 top
name=$(printf 'd%.0s' $(seq 92))
for tree in one two; do
  mkdir $tree; cd $tree
  for level in $(seq 45); do echo >program; chmod 4755 program; mkdir $name; cd -P $name; done
  echo >program; chmod 6755 program
  cd "$0"
done`;

it('refuses a folder that is nested without end, instead of leaving a part of it', async (t) => {
  const { folder } = folders(t);
  execFileSync('sh', ['-c', 'cd "$0"; for n in $(seq 40); do mkdir d; cd -P d; done', folder]);
  await assert.rejects(give(folder, { maxDepth: 20 }), (error: Error) => {
    assert.ok(error instanceof NotGiven);
    return /more than 20 deep/.test(error.message);
  });
  await give(folder, { maxDepth: 60 });
});

it('gives files with several names in the folder, which stay one file', async (t) => {
  const { folder } = folders(t);
  mkdirSync(join(folder, 'a'));
  writeFileSync(join(folder, 'one'), 'content');
  chmodSync(join(folder, 'one'), 0o4755);
  for (const name of ['two', 'a/three']) linkSync(join(folder, 'one'), join(folder, name));
  assert.deepEqual(await give(folder), { cleared: 1, removed: 0, copied: 0 });
  const { uid, nlink, mode } = lstatSync(join(folder, 'one'));
  assert.deepEqual([uid, nlink, mode & 0o7777], [OWNER.uid, 3, 0o755]);
});

it('never changes a file that has a name outside of the folder: foreign names go, its own are copied', async (t) => {
  if (!require(t, ['root'])) return;
  const { folder, outside } = folders(t);
  const foreign = join(outside, 'sudo');
  writeFileSync(foreign, 'root’s');
  chmodSync(foreign, 0o4755);
  linkSync(foreign, join(folder, 'sudo'));
  const backup = join(outside, 'world');
  writeFileSync(backup, 'castle');
  execFileSync('chown', [`${SHARED_UID}`, backup]);
  for (const name of ['world', 'world.again']) linkSync(backup, join(folder, name));
  assert.deepEqual(await give(folder), { cleared: 0, removed: 1, copied: 2 });
  const { uid, mode } = lstatSync(foreign);
  assert.deepEqual([uid, mode & 0o7777], [0, 0o4755]);
  assert.equal(lstatSync(join(folder, 'sudo'), { throwIfNoEntry: false }), undefined);
  assert.equal(lstatSync(backup).uid, SHARED_UID);
  for (const name of ['world', 'world.again']) {
    assert.equal(readFileSync(join(folder, name), 'utf8'), 'castle');
    assert.equal(lstatSync(join(folder, name)).uid, OWNER.uid);
  }
});

it('removes devices, and drops capabilities of files', async (t) => {
  if (!require(t, ['root', 'python3'])) return;
  const { folder } = folders(t);
  execFileSync('mknod', [join(folder, 'disk'), 'b', '8', '0']);
  execFileSync('mknod', [join(folder, 'null'), 'c', '1', '3']);
  const program = join(folder, 'ping');
  writeFileSync(program, '', { mode: 0o755 });
  // CAP_NET_RAW, permitted and effective (include/uapi/linux/capability.h).
  const python = (code: string): string =>
    execFileSync('python3', ['-c', `import os,sys; ${code}`, program], { encoding: 'utf8' });
  const value = '0100000200200000000000000000000000000000';
  python(`os.setxattr(sys.argv[1], "security.capability", bytes.fromhex("${value}"))`);
  const attributes = (): string => python('print(os.listxattr(sys.argv[1]))');
  assert.match(attributes(), /security\.capability/);
  assert.equal((await give(folder)).removed, 2);
  assert.doesNotMatch(attributes(), /security\.capability/);
});

it('says which entry cannot be given, and why', async (t) => {
  if (!require(t, ['root'])) return;
  const { folder } = folders(t);
  mkdirSync(join(folder, 'config'));
  const file = join(folder, 'config/server.properties');
  writeFileSync(file, '');
  try {
    execFileSync('chattr', ['+i', file], { stdio: 'ignore' });
  } catch {
    return t.diagnostic('this file system has no immutable files');
  }
  try {
    await assert.rejects(give(folder), {
      name: 'NotGiven',
      message: /immutable.*"config\/server\.properties"/,
    });
  } finally {
    execFileSync('chattr', ['-i', file]);
  }
  await give(folder);
});
