import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { missing } from '@portcullis/lab/requirements.ts';
import { adoptInstallation, completeAdoption } from './adopt.ts';
import { isInstalled, movedTo } from './choose.ts';

/** Nobody's: the previous owner and the account of the database. */
const ADA = 64_001;
const ACCOUNT = { name: 'database', uid: 64_002, gid: 64_002 };
const FILES = {
  'postgres/PG_VERSION': '18\n',
  'postgres/postmaster.pid': '1\n',
  'node/credential': 'secret',
  'node/servers/hearth/world': 'castle',
  'edge/credential': 'secret',
  'first-key-unseen': '',
};

test('an adoption that was killed is completed, wherever it was', (t) => {
  for (const moved of [[], ['node'], ['node', 'postgres']]) {
    const { into } = folders(t);
    for (const part of ['node', 'postgres'])
      write(join(into, moved.includes(part) ? '' : 'adopting', part, 'file'), part);
    write(join(into, 'adopting', 'complete'), '');
    // As `up` makes it before.
    mkdirSync(join(into, 'node'), { recursive: true });
    assert.equal(completeAdoption(into), true);
    for (const part of ['node', 'postgres'])
      assert.equal(readFileSync(join(into, part, 'file'), 'utf8'), part);
    assert.equal(existsSync(join(into, 'adopting')), false);
    assert.equal(completeAdoption(into), false);
  }
});

suite('root adopts the installation of another account', {
  skip: missing(['root']) ?? false,
}, () => {
  test('each part belongs to whom it has to, and the original says where it went', async (t) => {
    const { from, into } = folders(t);
    makeInstallation(from);
    symlinkSync('/etc/passwd', join(from, 'node/servers/hearth/link'));
    const before = lstatSync('/etc/passwd');
    await adoptInstallation(from, into, ACCOUNT);
    const owners = (path: string): number => lstatSync(join(into, path)).uid;
    assert.equal(owners('postgres/PG_VERSION'), ACCOUNT.uid);
    assert.equal(lstatSync(join(into, 'postgres')).mode & 0o777, 0o700);
    assert.equal(owners('node/credential'), 0);
    assert.equal(owners('node/servers/hearth/world'), 0, 'until the node gives it to the server');
    assert.equal(lstatSync('/etc/passwd').uid, before.uid);
    for (const left of ['postgres/postmaster.pid', 'edge', 'adopting'])
      assert.equal(existsSync(join(into, left)), false, left);
    assert.equal(movedTo(from), into);
    assert.deepEqual([isInstalled(from), isInstalled(into)], [false, true]);
    assert.equal(readFileSync(join(from, 'node/servers/hearth/world'), 'utf8'), 'castle');
  });

  test('nothing is taken while it is in use, nor a database with links out of its folder', async (t) => {
    const { from, into } = folders(t);
    makeInstallation(from);
    const holder = spawn('flock', [join(from, 'up.lock'), 'sh', '-c', 'echo held; read _'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    await once(holder.stdout, 'data');
    await assert.rejects(adoptInstallation(from, into, ACCOUNT), /in use: stop what runs there/);
    holder.stdin.end();
    await once(holder, 'exit');
    symlinkSync('/etc/shadow', join(from, 'postgres', 'pg_hba.conf.new'));
    await assert.rejects(adoptInstallation(from, into, ACCOUNT), /links to places outside/);
    assert.deepEqual([isInstalled(from), isInstalled(into)], [true, false]);
    assert.equal(existsSync(join(into, 'adopting')), false);
  });

  test('game servers that still run are not copied under their feet', async (t) => {
    const { from, into } = folders(t);
    makeInstallation(from);
    const game = spawn('sleep', ['600'], { cwd: join(from, 'node/servers/hearth') });
    await once(game, 'spawn');
    await assert.rejects(adoptInstallation(from, into, ACCOUNT), /game servers of \S+ still run/);
    game.kill('SIGKILL');
    await once(game, 'exit');
    await adoptInstallation(from, into, ACCOUNT);
    await assert.rejects(adoptInstallation(from, into, ACCOUNT), /holds no installation/);
  });
});

function folders(t: TestContext): { readonly from: string; readonly into: string } {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-adopt-'));
  t.after(() => rmSync(folder, { recursive: true }));
  chmodSync(folder, 0o755);
  const [from, into] = [join(folder, 'from'), join(folder, 'into')];
  for (const path of [from, into]) mkdirSync(path, { mode: 0o711 });
  return { from, into };
}

function makeInstallation(from: string): void {
  for (const [path, text] of Object.entries(FILES)) {
    write(join(from, path), text);
    chmodSync(join(from, 'postgres'), 0o700);
    for (let at = join(from, path); at.startsWith(from); at = dirname(at)) lchownSync(at, ADA, ADA);
  }
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
