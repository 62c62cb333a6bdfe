import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { FileCall, FileOperation } from '@portcullis/link/messages/files.ts';
import { parseAnswer } from '@portcullis/link/messages/messages.ts';
import { emptyFolder } from './operations/empty.ts';
import { FolderWatch, OWNER, TestFiles, writing } from './testing/files.ts';
import { HOSTILE_CASES } from './testing/hostile-cases.ts';
import { LinkDoor } from './testing/link-door.ts';

const isRoot = process.getuid?.() === 0;

describe('the cases of every door, by the link', () => {
  for (const { name, needsRoot = false, run } of HOSTILE_CASES) {
    it(name, { skip: needsRoot && !isRoot && 'needs root' }, (t) =>
      run(new LinkDoor(new TestFiles(t))),
    );
  }
});

/** Every operation on one path, to try a rule at every door. */
function operationsOn(path: string): FileOperation[] {
  return [
    { kind: 'read', path },
    writing(path, 'x'),
    { kind: 'move', moves: [{ from: path, to: 'moved' }], replace: false },
    { kind: 'move', moves: [{ from: 'plain', to: path }], replace: true },
    { kind: 'copy', from: path, to: 'copied' },
    { kind: 'copy', from: 'plain', to: path },
    { kind: 'delete', paths: [path], forGood: false },
    { kind: 'delete', paths: [path], forGood: true },
    { kind: 'makeFolder', path },
    { kind: 'setMode', files: [{ path, mode: 0o777 }] },
  ];
}

describe('links out of a folder (CVE-2023-25152, CVE-2023-25168, CVE-2024-27102)', () => {
  it('are followed by no operation, as the last name or on the way', async (t) => {
    const files = new TestFiles(t);
    const watch = new FolderWatch(files.outside);
    files.put('plain', 'plain');
    symlinkSync(files.outside, join(files.folder, 'out'));
    symlinkSync(join(files.outside, 'secret'), join(files.folder, 'file'));
    symlinkSync('/', join(files.folder, 'root'));
    for (const path of ['out/secret', 'out/new', 'root/etc/passwd']) {
      for (const operation of operationsOn(path)) {
        const code = await files.code(operation);
        assert.ok(
          code === 'impossible' || code === 'not_found',
          `${operation.kind} ${path}: ${code}`,
        );
      }
    }
    for (const operation of [
      { kind: 'read', path: 'file' },
      writing('file', 'x'),
      { kind: 'copy', from: 'file', to: 'copied' },
      { kind: 'setMode', files: [{ path: 'file', mode: 0o777 }] },
      { kind: 'setMode', files: [{ path: 'out', mode: 0o777 }] },
      { kind: 'makeFolder', path: 'file' },
    ] as const satisfies readonly FileOperation[]) {
      const code = await files.code(operation);
      assert.ok(code === 'impossible' || code === 'exists', `${operation.kind}: ${code}`);
    }
    const { found } = await files.ok('found', {
      kind: 'search',
      path: '',
      name: null,
      text: 'secret',
      limit: 100,
    });
    assert.deepEqual(found, []);
    const { bytes } = await files.ok('measured', { kind: 'measure', path: '' });
    assert.ok(bytes < 1_000_000, `${bytes}`);
    watch.assertSame();
  });

  it('are not followed when they replace a folder during the operation', async (t) => {
    const files = new TestFiles(t);
    mkdirSync(join(files.folder, 'conf'));
    writeFileSync(join(files.outside, 'secret.cfg'), 'key=secret');
    const watch = new FolderWatch(files.outside);
    const swapper = new Worker(new URL('../server-folder/testing/swap-links.ts', import.meta.url), {
      workerData: { folder: files.folder, outside: files.outside },
    });
    const seen = { done: 0, refused: 0 };
    try {
      await once(swapper, 'online');
      const path = 'conf/a.cfg';
      const untilMs = performance.now() + 2_000;
      while (performance.now() < untilMs || seen.done < 10 || seen.refused < 10) {
        for (const operation of [
          { kind: 'read', path },
          writing(path, 'mine'),
          { kind: 'setMode', files: [{ path, mode: 0o777 }] },
          { kind: 'copy', from: 'conf', to: `copies/${seen.done}-${seen.refused}` },
          { kind: 'delete', paths: [path], forGood: true },
        ] as const satisfies readonly FileOperation[]) {
          const answer = await files.call(operation);
          if (answer?.kind === 'content')
            assert.doesNotMatch(Buffer.from(answer.content, 'base64').toString(), /secret/);
          if (answer?.kind === 'refused') seen.refused += 1;
          else seen.done += 1;
        }
      }
    } finally {
      await swapper.terminate();
    }
    const copied = execFileSync('sh', ['-c', 'grep -rl secret . || true'], { cwd: files.folder });
    assert.equal(copied.toString(), '');
    watch.assertSame();
  });
});

describe('permissions (GHSA-rhq6-9rgh-v45c)', () => {
  it('never have set-user-id, set-group-id or the sticky bit', async (t) => {
    const files = new TestFiles(t);
    files.put('a');
    execFileSync('chmod', ['6755', join(files.folder, 'a')]);
    await files.ok('written', writing('a', 'x'));
    assert.equal(statSync(join(files.folder, 'a')).mode & 0o7777, 0o755);
    execFileSync('chmod', ['6755', join(files.folder, 'a')]);
    await files.ok('job', { kind: 'copy', from: 'a', to: 'b' });
    assert.equal(statSync(join(files.folder, 'b')).mode & 0o7777, 0o755);
    await files.ok('done', { kind: 'setMode', files: [{ path: 'a', mode: 0o700 }] });
    assert.equal(statSync(join(files.folder, 'a')).mode & 0o7777, 0o700);
  });

  it('of a foreign file with a name in the folder are not changed, and its content is not read', {
    skip: !isRoot && 'needs root',
  }, async (t) => {
    const files = new TestFiles(t);
    linkSync(join(files.outside, 'secret'), join(files.folder, 'hard'));
    const watch = new FolderWatch(files.outside);
    for (const operation of [
      { kind: 'read', path: 'hard' },
      { kind: 'setMode', files: [{ path: 'hard', mode: 0o777 }] },
      { kind: 'copy', from: 'hard', to: 'b' },
    ] as const satisfies readonly FileOperation[])
      assert.equal(await files.code(operation), 'impossible', operation.kind);
    // A write replaces the name, not the file.
    assert.equal(await files.code(writing('hard', 'mine')), 'written');
    watch.assertSame();
  });
});

describe('what is no file and no folder', () => {
  it('blocks no operation', async (t) => {
    const files = new TestFiles(t);
    files.put('plain', 'x');
    execFileSync('mkfifo', [join(files.folder, 'pipe')]);
    if (isRoot) execFileSync('mknod', [join(files.folder, 'device'), 'c', '1', '5']);
    for (const path of isRoot ? ['pipe', 'device'] : ['pipe']) {
      assert.equal(await files.code({ kind: 'read', path }), 'impossible');
      assert.equal(await files.code(writing(path, 'x')), 'impossible');
      assert.equal(await files.code({ kind: 'copy', from: path, to: 'c' }), 'impossible');
      assert.equal(
        await files.code({ kind: 'setMode', files: [{ path, mode: 0o777 }] }),
        'impossible',
      );
    }
    await files.ok('job', { kind: 'copy', from: 'plain', to: 'folder/plain' });
    renameSync(join(files.folder, 'pipe'), join(files.folder, 'folder/pipe'));
    await files.ok('job', { kind: 'copy', from: 'folder', to: 'copy' });
    assert.deepEqual(readdirSync(join(files.folder, 'copy')), ['plain']);
    const types = (await files.list('', { withContent: true })).entries.map(({ type }) => type);
    assert.ok(isRoot ? types.includes('other') : true);
  });
});

describe('the denylist of an egg (panel#5042, #5650)', () => {
  it('holds at every door, for the file and for a folder around it', async (t) => {
    const files = new TestFiles(t);
    files.denylist = ['secrets', '*.key'];
    files.put('plain', 'x');
    files.put('conf/a.key', 'token=1');
    files.put('secrets/b', 'token=2');
    for (const path of ['conf/a.key', 'secrets/b', 'secrets', 'new.key']) {
      for (const operation of operationsOn(path))
        assert.equal(await files.code(operation), 'denied', `${operation.kind} ${path}`);
    }
    for (const operation of [
      { kind: 'move', moves: [{ from: 'conf', to: 'other' }], replace: false },
      { kind: 'move', moves: [{ from: 'plain', to: 'conf' }], replace: true },
      { kind: 'delete', paths: ['conf'], forGood: false },
      { kind: 'delete', paths: ['conf'], forGood: true },
    ] as const satisfies readonly FileOperation[])
      assert.equal(await files.code(operation), 'denied', operation.kind);
    const copied = await files.call({ kind: 'copy', from: 'conf', to: 'other' });
    assert.equal(copied?.kind === 'refused' && copied.code, 'denied');
    assert.deepEqual(
      (await files.list('conf')).entries.map(({ denied }) => denied),
      [true],
    );
    assert.equal(await files.code({ ...LIST, path: 'secrets' }), 'denied');
    const text = { kind: 'search', path: '', name: null, text: 'token', limit: 10 } as const;
    assert.deepEqual((await files.ok('found', text)).found, []);
    assert.equal(existsSync(join(files.folder, 'conf/a.key')), true);
  });

  it('holds for a folder that would put a file at a denied place', async (t) => {
    const files = new TestFiles(t);
    files.denylist = ['/live/server.cfg'];
    files.put('mine/server.cfg', 'x');
    const move = { kind: 'move', moves: [{ from: 'mine', to: 'live' }], replace: false } as const;
    assert.equal(await files.code(move), 'denied');
    assert.equal(await files.code({ kind: 'copy', from: 'mine', to: 'live' }), 'denied');
    // From the bin neither.
    files.denylist = [];
    await files.ok('done', { kind: 'move', moves: [{ from: 'mine', to: 'live' }], replace: false });
    await files.ok('done', { kind: 'delete', paths: ['live'], forGood: false });
    files.denylist = ['/live/server.cfg'];
    const { items } = await files.ok('bin', { kind: 'listBin' });
    assert.equal(await files.code({ kind: 'restore', ids: items.map(({ id }) => id) }), 'denied');
  });

  it('holds for files before an install, which come back from the bin without those', async (t) => {
    const files = new TestFiles(t);
    files.denylist = ['/conf/token', '*.key'];
    for (const path of ['conf/token', 'conf/plain', 'a.key']) files.put(path, 'x');
    const name = 'before-install-2';
    await emptyFolder({ folder: files.folder, owner: OWNER, how: 'bin', name });
    const { items } = await files.ok('bin', { kind: 'listBin' });
    await files.ok('done', { kind: 'restore', ids: items.map(({ id }) => id) });
    assert.deepEqual(await files.names(name), ['conf']);
    assert.deepEqual(await files.names(`${name}/conf`), ['plain']);
  });

  it('holds for a folder that is moved there while a job fills it', async (t) => {
    const files = new TestFiles(t);
    files.denylist = ['/live/server.cfg'];
    files.put('plain', 'x');
    files.put('mine/other');
    const measured = Promise.withResolvers<void>();
    // The copy waits for the quota, and its place is known by then.
    files.slowDisk = measured.promise;
    const copied = files.code({ kind: 'copy', from: 'plain', to: 'mine/server.cfg' });
    await files.measures;
    await files.ok('done', { kind: 'move', moves: [{ from: 'mine', to: 'live' }], replace: false });
    measured.resolve();
    assert.notEqual(await copied, 'job');
    assert.deepEqual(await files.names('live'), ['other']);
  });

  it('holds for what comes into a folder while that is copied', async (t) => {
    const files = new TestFiles(t);
    files.denylist = ['/live/server.cfg'];
    files.put('mine/a', 'x');
    files.put('plain', 'x');
    const measured = Promise.withResolvers<void>();
    files.slowDisk = measured.promise;
    const copied = files.code({ kind: 'copy', from: 'mine', to: 'live' });
    await files.measures;
    const move = { from: 'plain', to: 'mine/server.cfg' };
    await files.ok('done', { kind: 'move', moves: [move], replace: false });
    measured.resolve();
    assert.equal(await copied, 'denied');
    assert.deepEqual(await files.names(), ['mine']);
  });

  it('cannot be passed by another spelling of a name', async (t) => {
    const files = new TestFiles(t);
    files.denylist = ['secrets/é'];
    files.put('secrets/é', 'x');
    for (const path of ['/secrets/é', 'secrets/é/', 'secrets/\uefc3\uefa9'])
      assert.equal(await files.code({ kind: 'read', path }), 'denied', path);
  });
});

describe('rights', () => {
  it('are needed by every operation, each its own', async (t) => {
    const files = new TestFiles(t);
    files.put('a', '1');
    const none: FileOperation[] = [
      LIST,
      ...operationsOn('a'),
      { kind: 'search', path: '', name: 'a', text: null, limit: 1 },
      { kind: 'measure', path: '' },
      { kind: 'listBin' },
      { kind: 'restore', ids: ['x'] },
      { kind: 'emptyBin', ids: null },
      { kind: 'listJobs' },
      { kind: 'cancelJob', id: 'x' },
    ];
    for (const operation of none) {
      const code = await files.code(operation, []);
      // There is nothing of that id before any right is asked about.
      const expected = operation.kind === 'restore' ? 'not_found' : 'forbidden';
      assert.equal(code, expected, operation.kind);
    }
    const reader = ['file.read'] as const;
    assert.equal(await files.code(LIST, reader), 'entries');
    assert.equal(await files.code({ kind: 'read', path: 'a' }, reader), 'forbidden');
    assert.equal(await files.code({ ...LIST, withContent: true }, reader), 'forbidden');
    assert.equal(await files.code(writing('a', 'x'), ['file.create']), 'forbidden');
    assert.equal(await files.code(writing('new', 'x'), ['file.update']), 'forbidden');
    assert.equal(await files.code(writing('new', 'x'), ['file.create']), 'written');
  });

  it('are of no use for a server that is suspended or being built', async (t) => {
    const files = new TestFiles(t);
    files.put('a');
    files.away = 'The server is suspended.';
    for (const operation of [LIST, ...operationsOn('a')])
      assert.equal(await files.code(operation), 'unavailable', operation.kind);
  });
});

describe('the disk quota', () => {
  it('holds for many writes at once, and counts no replaced file twice', async (t) => {
    const files = new TestFiles(t);
    files.limitMib = 8;
    const half = Buffer.alloc(3 * 1024 * 1024, 1);
    const codes = await Promise.all(
      ['a', 'b', 'c', 'd'].map((name) => files.code(writing(name, half))),
    );
    assert.equal(codes.filter((code) => code === 'written').length, 2, codes.join());
    assert.equal(codes.filter((code) => code === 'quota').length, 2);
    const kept = ['a', 'b', 'c', 'd'].find((_, index) => codes[index] === 'written') ?? '';
    for (let round = 0; round < 4; round += 1)
      assert.equal(await files.code(writing(kept, half)), 'written');
    assert.equal(await files.code({ kind: 'copy', from: kept, to: 'copy' }), 'quota');
    assert.equal(existsSync(join(files.folder, 'copy')), false);
    // The bin counts: it is on the disk.
    await files.ok('done', { kind: 'delete', paths: [kept], forGood: false });
    assert.equal(await files.code(writing('new', half)), 'quota');
    await files.ok('done', { kind: 'emptyBin', ids: null });
    await emptied(files);
    assert.equal(await files.code(writing('new', half)), 'written');
  });

  it('holds for empty files and folders', async (t) => {
    const files = new TestFiles(t);
    files.limitMib = 1;
    let made = 0;
    while ((await files.code({ kind: 'makeFolder', path: `f${made}` })) === 'done') made += 1;
    assert.ok(made > 200 && made < 260, `${made}`);
  });

  it('holds for copies of an empty folder', async (t) => {
    const files = new TestFiles(t);
    files.limitEntries = 12;
    await files.ok('done', { kind: 'makeFolder', path: 'empty' });
    let made = 0;
    const copy = () => files.code({ kind: 'copy', from: 'empty', to: `c${made}` });
    while (made < 20 && (await copy()) === 'job') made += 1;
    assert.ok(made > 0 && made < 12, `${made}`);
  });
});

describe('deep folders', () => {
  it('are deleted for good, however deep a game made them', async (t) => {
    const files = new TestFiles(t);
    const script = `for (let depth = 0; depth < 1500; depth += 1) {
      fs.mkdirSync('d');
      process.chdir('d');
    }`;
    execFileSync(process.execPath, ['-e', script], { cwd: files.folder });
    await files.ok('done', { kind: 'delete', paths: ['d'], forGood: true });
    await emptied(files);
    assert.deepEqual(await files.names(), []);
  });
});

describe('files that a game made', () => {
  it('are no answer that control would end the link of the node for', async (t) => {
    const files = new TestFiles(t);
    // Each call of the kernel takes a path of 4,095 bytes, and a game goes into a folder first.
    const nest = 'for at in $(seq 25); do mkdir "$0" && cd -P "$0"; done; touch needle';
    try {
      execFileSync('sh', ['-c', nest, 'n'.repeat(200)], { cwd: files.folder });
      const search = { kind: 'search', path: '', name: 'needle', text: null, limit: 10 } as const;
      const answer = await files.call(search);
      assert.ok(answer !== null && parseAnswer<FileCall>({ kind: 'node.files' }, answer).ok);
      assert.deepEqual(answer, { kind: 'found', found: [], complete: false });
    } finally {
      execFileSync('rm', ['-rf', join(files.folder, 'n'.repeat(200))]);
    }
  });
});

describe('a node that is killed in the middle', () => {
  it('leaves a file as it was or as it is written, and what it left is swept', async (t) => {
    const files = new TestFiles(t);
    files.put('a', 'old');
    await files.ok('written', writing('other', 'x'));
    // What a killed write leaves.
    writeFileSync(join(files.folder, '.portcullis/tmp/0123456789abcdef01234567'), 'half');
    assert.equal(readFileSync(join(files.folder, 'a'), 'utf8'), 'old');
    await files.ok('done', { kind: 'delete', paths: ['other'], forGood: true });
    await emptied(files);
    assert.equal(lstatSync(join(files.folder, 'a')).isFile(), true);
  });
});

const LIST = {
  kind: 'list',
  path: '',
  sort: 'name',
  descending: false,
  offset: 0,
  limit: 10,
  withContent: false,
} as const;

async function emptied({ folder }: TestFiles): Promise<void> {
  while (readdirSync(join(folder, '.portcullis/tmp')).length > 0) await delay(5);
}
