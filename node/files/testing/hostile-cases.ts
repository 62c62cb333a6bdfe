import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { FileRight } from '@portcullis/core/access/server-rights.ts';
import { FolderWatch, type TestFiles } from './files.ts';

/** `done`, or why not. Doors have other words for a refusal, but for one by rights or denylist: `denied`. */
export type Outcome = string;

/** One way to the files of a server, with the operations that all ways have. */
export interface TestedDoor {
  readonly files: TestFiles;
  /** The content, or null if it was refused. */
  content(path: string): Promise<string | null>;
  read(path: string): Promise<Outcome>;
  write(path: string, content: string | Buffer): Promise<Outcome>;
  move(from: string, to: string): Promise<Outcome>;
  remove(path: string): Promise<Outcome>;
  makeFolder(path: string): Promise<Outcome>;
  setMode(path: string, mode: number): Promise<Outcome>;
  list(path: string): Promise<Outcome>;
  /** Gives the caller these rights and no others. */
  allow(rights: readonly FileRight[]): Promise<void>;
}

interface HostileCase {
  readonly name: string;
  readonly needsRoot?: boolean;
  readonly run: (door: TestedDoor) => Promise<void>;
}

/** Every operation on one path, to try a rule by each. */
async function all(door: TestedDoor, path: string): Promise<ReadonlyMap<string, Outcome>> {
  door.files.put('plain', 'plain');
  return new Map([
    ['read', await door.read(path)],
    ['write', await door.write(path, 'x')],
    ['move from', await door.move(path, 'moved')],
    ['move to', await door.move('plain', path)],
    ['remove', await door.remove(path)],
    ['make folder', await door.makeFolder(path)],
    ['set mode', await door.setMode(path, 0o777)],
  ]);
}

function assertAll(outcomes: ReadonlyMap<string, Outcome>, is: RegExp, about: string): void {
  for (const [operation, outcome] of outcomes)
    assert.match(outcome, is, `${operation} ${about}: ${outcome}`);
}

const REFUSED = /^(?!done$)/;
const DENIED = /^denied$/;

/** Attacks on peers by callers and games, by the names of their CVEs. Every door passes every case. */
export const HOSTILE_CASES: readonly HostileCase[] = [
  {
    name: 'follows no link out of the folder, on the way (CVE-2023-25152, CVE-2023-25168)',
    async run(door) {
      const { folder, outside } = door.files;
      const watch = new FolderWatch(outside);
      symlinkSync(outside, join(folder, 'out'));
      symlinkSync('/', join(folder, 'root'));
      for (const path of ['out/secret', 'out/new', 'root/etc/passwd'])
        assertAll(await all(door, path), REFUSED, path);
      assert.match(await door.list('out'), REFUSED);
      watch.assertSame();
    },
  },
  {
    name: 'follows no link as the last name, and moves and removes the link itself',
    async run(door) {
      const { folder, outside } = door.files;
      const watch = new FolderWatch(outside);
      symlinkSync(join(outside, 'secret'), join(folder, 'file'));
      for (const outcome of [
        await door.read('file'),
        await door.write('file', 'x'),
        await door.setMode('file', 0o777),
        await door.makeFolder('file'),
      ])
        assert.match(outcome, REFUSED);
      assert.equal(await door.move('file', 'renamed'), 'done');
      assert.equal(await door.remove('renamed'), 'done');
      watch.assertSame();
    },
  },
  {
    name: 'changes no mode behind a link (GHSA-rhq6-9rgh-v45c)',
    async run(door) {
      const { folder, outside } = door.files;
      const watch = new FolderWatch(outside);
      symlinkSync(outside, join(folder, 'out'));
      symlinkSync(join(outside, 'secret'), join(folder, 'file'));
      for (const path of ['out', 'file', 'out/secret'])
        assert.match(await door.setMode(path, 0o777), REFUSED);
      watch.assertSame();
    },
  },
  {
    name: 'follows no link that replaces a folder during the operation (CVE-2024-27102)',
    async run(door) {
      const { folder, outside } = door.files;
      mkdirSync(join(folder, 'conf'));
      writeFileSync(join(outside, 'secret.cfg'), 'key=secret');
      const watch = new FolderWatch(outside);
      const swapper = new Worker(
        new URL('../../server-folder/testing/swap-links.ts', import.meta.url),
        { workerData: { folder, outside } },
      );
      const seen = { done: 0, refused: 0 };
      try {
        await once(swapper, 'online');
        const path = 'conf/a.cfg';
        const untilMs = performance.now() + 1_500;
        while (performance.now() < untilMs || seen.done < 10 || seen.refused < 10) {
          const outcomes = [
            await door.write(path, 'mine'),
            await door.setMode(path, 0o777),
            await door.move(path, `moved-${seen.done}-${seen.refused}`),
            await door.remove(path),
          ];
          assert.doesNotMatch((await door.content(path)) ?? '', /secret/);
          for (const outcome of outcomes) seen[outcome === 'done' ? 'done' : 'refused'] += 1;
        }
      } finally {
        await swapper.terminate();
      }
      const found = execFileSync('sh', ['-c', 'grep -rl secret . || true'], { cwd: folder });
      assert.equal(found.toString(), '');
      watch.assertSame();
    },
  },
  {
    name: 'goes nowhere by a link in the place of its own folder',
    async run(door) {
      const { files } = door;
      const watch = new FolderWatch(files.outside);
      files.put('a', '1');
      symlinkSync(files.outside, join(files.folder, '.portcullis'));
      assert.match(await door.write('b', 'x'), REFUSED);
      assert.match(await door.remove('a'), REFUSED);
      rmSync(join(files.folder, '.portcullis'));
      mkdirSync(join(files.folder, '.portcullis'));
      symlinkSync(files.outside, join(files.folder, '.portcullis/tmp'));
      assert.match(await door.write('b', 'x'), REFUSED);
      watch.assertSame();
    },
  },
  {
    name: 'lets no caller into its own folder',
    async run(door) {
      door.files.put('a', '1');
      assert.equal(await door.remove('a'), 'done');
      for (const path of ['.portcullis', '.portcullis/bin', '.portcullis/tmp/x'])
        assertAll(await all(door, path), REFUSED, path);
      assert.match(await door.list('.portcullis/bin'), REFUSED);
    },
  },
  {
    name: 'leads out of the folder by no name (CVE-2026-30914)',
    async run(door) {
      const watch = new FolderWatch(door.files.outside);
      for (const path of [
        '../outside/secret',
        'a/../../outside/secret',
        '..',
        '%2e%2e/outside/secret',
        '..\\outside\\secret',
        `${'d/'.repeat(70)}a`,
        'x'.repeat(256),
        'x/'.repeat(3_000),
      ])
        assertAll(new Map([['read', await door.read(path)]]), REFUSED, path);
      watch.assertSame();
    },
  },
  {
    name: 'sets no set-user-id, set-group-id and sticky bit',
    async run(door) {
      const { files } = door;
      const modeOf = (): number => statSync(join(files.folder, 'a')).mode & 0o7777;
      files.put('a');
      execFileSync('chmod', ['6755', join(files.folder, 'a')]);
      assert.equal(await door.write('a', 'x'), 'done');
      assert.equal(modeOf(), 0o755);
      execFileSync('chmod', ['6755', join(files.folder, 'a')]);
      assert.equal(await door.setMode('a', 0o700), 'done');
      assert.equal(modeOf(), 0o700);
    },
  },
  {
    name: 'touches no file of another account that has a name in the folder',
    needsRoot: true,
    async run(door) {
      const { folder, outside } = door.files;
      linkSync(join(outside, 'secret'), join(folder, 'hard'));
      const watch = new FolderWatch(outside);
      assert.match(await door.read('hard'), REFUSED);
      assert.match(await door.setMode('hard', 0o777), REFUSED);
      // A write replaces the name, not the file.
      assert.equal(await door.write('hard', 'mine'), 'done');
      watch.assertSame();
    },
  },
  {
    name: 'waits for no pipe and opens no device',
    needsRoot: true,
    async run(door) {
      const { folder } = door.files;
      execFileSync('mkfifo', [join(folder, 'pipe')]);
      execFileSync('mknod', [join(folder, 'device'), 'c', '1', '5']);
      for (const path of ['pipe', 'device']) {
        assert.match(await door.read(path), REFUSED);
        assert.match(await door.write(path, 'x'), REFUSED);
        assert.match(await door.setMode(path, 0o777), REFUSED);
      }
    },
  },
  {
    name: 'keeps the denylist of the egg, for a file and for a folder around it (panel#5042, #5650)',
    async run(door) {
      const { files } = door;
      files.denylist = ['secrets', '*.key', '/live/server.cfg'];
      files.put('conf/a.key', 'token=1');
      files.put('secrets/b', 'token=2');
      files.put('mine/server.cfg', 'x');
      for (const path of ['conf/a.key', 'secrets/b', 'new.key', 'secrets/\uefc3\uefa9'])
        assertAll(await all(door, path), DENIED, path);
      for (const outcome of [
        await door.move('conf', 'other'),
        await door.move('mine', 'live'),
        await door.list('secrets'),
      ])
        assert.equal(outcome, 'denied');
      assert.equal(readFileSync(join(files.folder, 'conf/a.key'), 'utf8'), 'token=1');
    },
  },
  {
    name: 'asks for the right of each operation',
    async run(door) {
      door.files.put('a', '1');
      await door.allow(['file.sftp']);
      assertAll(await all(door, 'a'), DENIED, 'a');
      assert.equal(await door.list(''), 'denied');
      await door.allow(['file.sftp', 'file.read']);
      assert.equal(await door.list(''), 'done');
      assert.equal(await door.read('a'), 'denied');
      await door.allow(['file.sftp', 'file.create']);
      assert.equal(await door.write('a', 'x'), 'denied');
      assert.equal(await door.write('new', 'x'), 'done');
      await door.allow(['file.sftp', 'file.update']);
      assert.equal(await door.write('newer', 'x'), 'denied');
      assert.equal(await door.write('a', 'x'), 'done');
      assert.equal(await door.remove('a'), 'denied');
    },
  },
  {
    name: 'is of no use for a server that is suspended or being built',
    async run(door) {
      door.files.put('a');
      door.files.away = 'The server is suspended.';
      assertAll(await all(door, 'a'), REFUSED, 'a');
      assert.match(await door.list(''), REFUSED);
    },
  },
  {
    name: 'keeps the quota for many writes at once, and leaves nothing of those refused (CVE-2025-69198)',
    async run(door) {
      const { files } = door;
      files.limitMib = 8;
      const half = Buffer.alloc(3 * 1024 * 1024, 1);
      const names = ['a', 'b', 'c', 'd'];
      const outcomes = await Promise.all(names.map((name) => door.write(name, half)));
      const done = names.filter((_, index) => outcomes[index] === 'done');
      assert.ok(done.length === 1 || done.length === 2, outcomes.join());
      const kept = names.filter((name) => existsSync(join(files.folder, name)));
      assert.deepEqual(kept, done);
    },
  },
  {
    name: 'keeps the quota for empty files and folders',
    async run(door) {
      door.files.limitMib = 1;
      let made = 0;
      while ((await door.makeFolder(`f${made}`)) === 'done') made += 1;
      assert.ok(made > 200 && made < 260, `${made}`);
    },
  },
  {
    name: 'makes no file without a byte beyond the limit of entries',
    async run(door) {
      door.files.limitEntries = 12;
      let made = 0;
      while (made < 20 && (await door.write(`f${made}`, '')) === 'done') made += 1;
      assert.ok(made > 0 && made < 12, `${made}`);
    },
  },
  {
    name: 'leaves nothing in the bin of what is not there',
    async run(door) {
      door.files.put('a');
      for (const path of ['a', 'a', 'a']) await door.remove(path);
      assert.equal((await door.files.ok('bin', { kind: 'listBin' })).items.length, 1);
      assert.equal(readdirSync(join(door.files.folder, '.portcullis/bin')).length, 1);
    },
  },
];
