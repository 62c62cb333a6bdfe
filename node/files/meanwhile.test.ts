import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { FileRight } from '@portcullis/core/access/server-rights.ts';
import type { FileOperation } from '@portcullis/link/messages/files.ts';
import { tarOf } from './archives/testing/archives.ts';
import { sizeOf } from './operations/describe.ts';
import { TestFiles, writing } from './testing/files.ts';

const UPDATES: readonly FileRight[] = ['file.read', 'file.read-content', 'file.update'];
const CREATES: readonly FileRight[] = [
  'file.read',
  'file.read-content',
  'file.archive',
  'file.create',
];

/** The outcome of an operation that waits for the disk while a game does something. */
async function during(
  files: TestFiles,
  operation: FileOperation,
  rights: readonly FileRight[],
  game: () => void,
): Promise<string | undefined> {
  const disk = Promise.withResolvers<void>();
  files.slowDisk = disk.promise;
  const outcome = files.code(operation, rights);
  await files.measures;
  game();
  disk.resolve();
  return outcome;
}

describe('a file that a game makes while one is written', () => {
  const write = writing('new', 'by the caller');
  const unpack = { kind: 'unpack', path: 'a.tar', to: '' } as const;
  for (const operation of [write, unpack] as const) {
    it(`is not replaced by a ${operation.kind} that may only create`, async (t) => {
      const files = new TestFiles(t);
      files.put('a.tar', await tarOf([{ name: 'new' }, 'by the caller']));
      const game = (): void => files.put('new', 'by the game');
      assert.equal(await during(files, operation, CREATES, game), 'forbidden');
      assert.equal(readFileSync(join(files.folder, 'new'), 'utf8'), 'by the game');
    });
  }
});

describe('folders on the way to a new name', () => {
  const move = (to: string) =>
    ({ kind: 'move', moves: [{ from: 'a', to }], replace: false }) as const;

  it('need the right to create', async (t) => {
    const files = new TestFiles(t);
    files.put('a', 'x');
    files.put('there/b', 'x');
    assert.equal(await files.code(move('new/folder/a'), UPDATES), 'forbidden');
    assert.deepEqual(await files.names(), ['there', 'a']);
    assert.equal(await files.code(move('there/a'), UPDATES), 'done');
  });

  it('count in the quota, all of them or none', async (t) => {
    const files = new TestFiles(t);
    files.put('a', 'x');
    // The folder of the server, the file, and two more.
    files.limitEntries = 4;
    assert.equal(await files.code(move('x/y/z/a')), 'quota');
    assert.deepEqual(await files.names(), ['a']);
    assert.equal(await files.code(move('x/y/a')), 'done');
    assert.equal(await files.code({ kind: 'makeFolder', path: 'more' }), 'quota');
  });
});

describe('folders of an archive that are left out', () => {
  it('take nothing of the quota', async (t) => {
    const files = new TestFiles(t);
    files.put('file', 'x');
    const folders = Array.from({ length: 50 }, (_, index) => ({
      name: `file/f${index}`,
      type: 'directory' as const,
    }));
    files.put('a.tar', await tarOf(...folders.map((one) => [one] as const)));
    // Room for its work folder and few more.
    files.limitEntries = 10;
    const { job } = await files.ok('job', { kind: 'unpack', path: 'a.tar', to: '' });
    assert.equal(job.state, 'done');
    assert.equal(await files.code({ kind: 'makeFolder', path: 'more' }), 'done');
  });
});

describe('a path that is longer than an answer holds', () => {
  /** Makes folders in two halves, because no call takes the whole path. */
  const deepen = (folder: string): void => {
    const half = Array.from({ length: 10 }, () => 'f'.repeat(250)).join('/');
    for (const name of ['upper', 'lower']) mkdirSync(join(folder, name, half), { recursive: true });
    renameSync(join(folder, 'lower'), join(folder, 'upper', half, 'lower'));
  };

  it('is left out of a search and of the bin, and holds back nothing else', async (t) => {
    const files = new TestFiles(t);
    t.after(() => execFileSync('rm', ['-rf', files.folder]));
    files.put('az', 'x');
    files.put('b', 'x');
    await files.ok('done', { kind: 'delete', paths: ['b'], forGood: false });
    deepen(files.folder);
    const item = join(files.folder, `.portcullis/bin/zzzzzzzz-22-${'0'.repeat(16)}`);
    mkdirSync(item);
    deepen(item);
    const search = { kind: 'search', path: '', name: 'a?', text: null, limit: 100 } as const;
    const { found } = await files.ok('found', search);
    assert.deepEqual(
      found.map(({ path }) => path),
      ['az'],
    );
    const all = await files.ok('found', { ...search, name: null });
    assert.ok(all.found.length < 22 && !all.complete);
    const { items } = await files.ok('bin', { kind: 'listBin' });
    assert.deepEqual(
      items.map(({ path }) => path),
      ['b'],
    );
    assert.equal(sizeOf({ size: 2n ** 62n, isDirectory: () => false }), Number.MAX_SAFE_INTEGER);
  });
});
