import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { skipUnless } from '@portcullis/lab/requirements.ts';
import { UNPRIVILEGED_ACCOUNTS } from '../../server-folder/account-range.ts';
import { FolderWatch, TestFiles } from '../testing/files.ts';
import { convert } from './conversion.ts';
import { rarOf } from './testing/rar.ts';

const CONFINED = join(import.meta.dirname, 'confined.ts');
const unpacking = (path: string) => ({ kind: 'unpack', path, to: 'out' }) as const;

/** A folder in which bsdtar makes an archive. */
function makeArchive(
  t: TestContext,
  fill: (folder: string) => void,
  ...args: readonly string[]
): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-archive-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const content = join(folder, 'content');
  mkdirSync(content);
  fill(content);
  const archive = join(folder, 'archive');
  // The names of 7z are UTF-16.
  const env = { ...process.env, LC_ALL: 'C.UTF-8' };
  execFileSync('bsdtar', ['-cf', archive, ...args, '.'], { cwd: content, env });
  return readFileSync(archive);
}

/** One file alone, compressed by xz. */
function compress(t: TestContext, content: string): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-archive-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'file'), content);
  return execFileSync('bsdtar', ['-cf', '-', '--format=raw', '--xz', 'file'], { cwd: folder });
}

function world(folder: string): void {
  mkdirSync(join(folder, 'world'));
  writeFileSync(join(folder, 'world/größe.dat'), Buffer.alloc(300_000, 'ab'));
  writeFileSync(join(folder, 'start.sh'), '#!/bin/sh', { mode: 0o755 });
}

const FORMATS = {
  '7z': ['--format=7zip'],
  'tar.xz': ['--xz'],
  'tar.bz2': ['--bzip2'],
} as const;

describe('archives that libarchive reads', { skip: skipUnless(['bsdtar']) }, () => {
  for (const [format, args] of Object.entries(FORMATS)) {
    it(`of the format ${format} are unpacked`, async (t) => {
      const files = new TestFiles(t);
      files.put(`all.${format}`, makeArchive(t, world, ...args));
      const { job } = await files.ok('job', unpacking(`all.${format}`));
      assert.deepEqual([job.state, job.notes], ['done', []]);
      const out = join(files.folder, 'out');
      assert.ok(readFileSync(join(out, 'world/größe.dat')).equals(Buffer.alloc(300_000, 'ab')));
      assert.equal(lstatSync(join(out, 'start.sh')).mode & 0o7777, 0o755);
    });

    it(`of the format ${format} leave no link and no set-user-id bit, and write through none`, async (t) => {
      const files = new TestFiles(t);
      const watch = new FolderWatch(files.outside);
      const fill = (folder: string): void => {
        symlinkSync(files.outside, join(folder, 'link'));
        writeFileSync(join(folder, 'suid'), 'x');
        execFileSync('chmod', ['6755', join(folder, 'suid')]);
        execFileSync('mkfifo', [join(folder, 'pipe')]);
      };
      // 7z has no pipes.
      const archive = makeArchive(
        t,
        (folder) => {
          fill(folder);
          if (format === '7z') rmSync(join(folder, 'pipe'));
        },
        ...args,
      );
      files.put('evil', archive);
      files.put('out/link/secret', 'own');
      const { job } = await files.ok('job', unpacking('evil'));
      assert.match(job.notes.join(), /link was left out/);
      const out = join(files.folder, 'out');
      assert.deepEqual(readdirSync(out).toSorted(), ['link', 'suid']);
      assert.equal(lstatSync(join(out, 'suid')).mode & 0o7777, 0o755);
      assert.equal(readFileSync(join(out, 'link/secret'), 'utf8'), 'own');
      watch.assertSame();
    });

    it(`of the format ${format} end at a name that leads out`, async (t) => {
      const files = new TestFiles(t);
      const watch = new FolderWatch(files.outside);
      const fill = (folder: string): void => writeFileSync(join(folder, 'name'), 'evil');
      const evil = makeArchive(t, fill, ...args, '-s', '|^./name|../../outside/new|', '-P');
      files.put('evil', evil);
      assert.equal(await files.code(unpacking('evil')), 'impossible');
      watch.assertSame();
    });

    it(`of the format ${format} that are bombs end early, by ratio, quota and entries`, async (t) => {
      const files = new TestFiles(t);
      const zeros = (folder: string): void => {
        writeFileSync(join(folder, 'zeros'), Buffer.alloc(100 * 1024 * 1024));
      };
      files.put('bomb', makeArchive(t, zeros, ...args));
      files.limitMib = 0;
      assert.equal(await files.code(unpacking('bomb')), 'too_large');
      files.limitMib = 8;
      assert.equal(await files.code(unpacking('bomb')), 'quota');
      assert.deepEqual(readdirSync(join(files.folder, 'out')), []);
      const many = (folder: string): void => {
        for (let index = 0; index < 600; index += 1) writeFileSync(join(folder, `${index}`), '');
      };
      files.put('many', makeArchive(t, many, ...args));
      rmSync(join(files.folder, 'bomb'));
      files.limitMib = 1;
      assert.equal(await files.code(unpacking('many')), 'quota');
      assert.ok(readdirSync(join(files.folder, 'out')).length < 260);
    });

    it(`of the format ${format} that are cut off leave whole files only`, async (t) => {
      const files = new TestFiles(t);
      const whole = makeArchive(t, world, ...args);
      files.put('cut', whole.subarray(0, Math.floor(whole.length / 2)));
      assert.equal(await files.code(unpacking('cut')), 'impossible');
      const kept = join(files.folder, 'out/world/größe.dat');
      if (existsSync(kept)) assert.equal(lstatSync(kept).size, 300_000);
    });
  }

  it('of the format rar are unpacked without their links', async (t) => {
    const files = new TestFiles(t);
    const watch = new FolderWatch(files.outside);
    const archive = rarOf(
      { name: 'world/level.dat', content: 'level' },
      { name: 'link', link: '../../outside' },
      { name: 'link/secret', content: 'evil' },
      { name: 'suid', content: 'x', mode: 0o106755 },
    );
    files.put('world.rar', archive);
    const { job } = await files.ok('job', unpacking('world.rar'));
    assert.match(job.notes.join(), /link was left out/);
    const out = join(files.folder, 'out');
    assert.equal(readFileSync(join(out, 'world/level.dat'), 'utf8'), 'level');
    assert.equal(lstatSync(join(out, 'suid')).mode & 0o7000, 0);
    assert.equal(lstatSync(join(out, 'link')).isDirectory(), true);
    watch.assertSame();
    const lead = rarOf({ name: '../../outside/new', content: 'evil' });
    files.put('lead.rar', lead);
    assert.equal(await files.code(unpacking('lead.rar')), 'impossible');
    watch.assertSame();
  });

  it('may be one file alone, and an archive within one stays a file', async (t) => {
    const files = new TestFiles(t);
    // A list of libarchive that names a file of the host as its content.
    const list = '#mtree\n./passwd type=file contents=/etc/passwd\n';
    files.put('list.xz', compress(t, list));
    await files.ok('job', unpacking('list.xz'));
    assert.equal(readFileSync(join(files.folder, 'out/list'), 'utf8'), list);
    const inner = makeArchive(t, world, '--format=7zip');
    const nested = makeArchive(
      t,
      (folder) => writeFileSync(join(folder, 'inner.7z'), inner),
      '--format=7zip',
    );
    files.put('nested.7z', nested);
    await files.ok('job', unpacking('nested.7z'));
    assert.ok(readFileSync(join(files.folder, 'out/inner.7z')).equals(inner));
  });

  it('are cancelled while the program reads them', async (t) => {
    const files = new TestFiles(t);
    files.put('all.7z', makeArchive(t, world, '--format=7zip'));
    const handle = await open(join(files.folder, 'all.7z'));
    t.after(() => handle.close());
    const cancel = new AbortController();
    const chunks = convert(handle, 'bsdtar', { server: 'a', signal: cancel.signal });
    assert.ok((await chunks.next()).value !== undefined);
    cancel.abort(new Error('enough'));
    await assert.rejects(async () => {
      while ((await chunks.next()).done !== true);
    }, /enough/);
  });

  it('leave no place taken when the process cannot be started', { timeout: 60_000 }, async (t) => {
    const files = new TestFiles(t);
    files.put('all.7z', makeArchive(t, world, '--format=7zip'));
    const handle = await open(join(files.folder, 'all.7z'));
    t.after(() => handle.close());
    const { signal } = new AbortController();
    const begin = async (): Promise<boolean> => {
      for await (const chunk of convert(handle, 'bsdtar', { server: 'a', signal }))
        return chunk.length > 0;
      return false;
    };
    const { execPath } = process;
    try {
      // Node refuses it at once, as it does where the kernel has no memory for a process.
      process.execPath = 'no\0path';
      for (let count = 0; count < 3; count += 1) await assert.rejects(begin(), /null bytes/);
    } finally {
      process.execPath = execPath;
    }
    assert.ok(await begin());
  });
});

it('an archive whose program is missing is refused, with the package that has it', async (t) => {
  const files = new TestFiles(t);
  files.put('a.7z', '7z');
  const handle = await open(join(files.folder, 'a.7z'));
  t.after(() => handle.close());
  const job = { server: 'a', signal: AbortSignal.timeout(20_000) };
  const chunks = convert(handle, 'bsdtar', job, ['/nowhere']);
  await assert.rejects(chunks.next(), /package libarchive-tools/);
});

describe('a program that reads archives', () => {
  const run = (program: string, ...args: readonly string[]) =>
    spawnSync(process.execPath, ['--no-warnings', CONFINED, program, ...args], {
      input: 'the archive',
      encoding: 'utf8',
      env: {},
    });

  it('has its input and its output', () => {
    const { stdout, stderr, status } = run('/usr/bin/cat');
    assert.deepEqual([stdout, stderr, status], ['the archive', '', 0]);
  });

  it('opens no file of the host, writes none, and begins no process', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-confined-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    execFileSync('chmod', ['777', folder]);
    for (const path of ['/etc/passwd', '/proc/self/status', `/proc/${process.pid}/environ`]) {
      const { stdout, status } = run('/usr/bin/cat', path);
      assert.deepEqual([stdout, status], ['', 1], path);
    }
    assert.notEqual(run('/usr/bin/touch', join(folder, 'new')).status, 0);
    assert.notEqual(run('/usr/bin/ls', '/').status, 0);
    assert.deepEqual(readdirSync(folder), []);
    const { stdout } = run('/usr/bin/sh', '-c', 'cat; echo $(cat)');
    assert.doesNotMatch(stdout, /archive/);
  });

  it('is of no account that has rights, and reaches neither network nor processes', {
    skip: skipUnless(['python3']),
  }, () => {
    const script = `
import ctypes, os, socket
found = []
if os.geteuid() == 0: found.append('root')
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK):
    kind = socket.SOCK_RAW if family == socket.AF_NETLINK else socket.SOCK_STREAM
    try:
        socket.socket(family, kind)
        found.append(f'socket {family}')
    except OSError: pass
for pid in (${process.pid}, os.getpid()):
    try:
        os.kill(pid, 0)
        found.append(f'kill {pid}')
    except OSError: pass
libc = ctypes.CDLL(None, use_errno=True)
for number in (425, 434):
    if libc.syscall(number, os.getpid(), 0) >= 0: found.append(f'call {number}')
print(*os.getresuid(), *os.getresgid(), *os.getgroups(), 'found:', *found)`;
    const { stdout, stderr } = run('/usr/bin/python3', '-I', '-S', '-c', script);
    const [account, found] = stdout.trim().split(' found:');
    assert.equal(found, '', stderr);
    const own = Array(6).fill(UNPRIVILEGED_ACCOUNTS.converter).join(' ');
    if (process.getuid?.() === 0) assert.equal(account, own);
  });
});
