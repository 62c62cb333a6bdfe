import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Folder } from '../server-folder/folder.ts';
import { OWNER, TestFiles, writing } from './testing/files.ts';

const TMP = '.portcullis/tmp';

describe('the files of a server', () => {
  it('are listed in pages, folders first, by name, size or time, with what they hold', async (t) => {
    const files = new TestFiles(t);
    files.put('b.txt', 'hello');
    files.put('A.jar', Buffer.from('504b0304aa', 'hex'));
    files.put('logs/x', '');
    symlinkSync(files.outside, join(files.folder, 'link'));
    utimesSync(join(files.folder, 'b.txt'), 1_000, 1_000);
    const { entries, total, complete } = await files.list('', { withContent: true });
    assert.deepEqual(
      entries.map(({ name, type, content }) => [name, type, content]),
      [
        ['logs', 'folder', null],
        ['A.jar', 'file', 'archive'],
        ['b.txt', 'file', 'text'],
        ['link', 'link', null],
      ],
    );
    assert.deepEqual([total, complete, entries[2]?.modifiedAtMs], [4, true, 1_000_000]);
    const bySize = await files.list('', { sort: 'size', descending: true, offset: 1, limit: 2 });
    assert.equal(bySize.total, 4);
    assert.equal(bySize.entries.length, 2);
    const oldest = await files.list('', { sort: 'modified', offset: 1, limit: 1 });
    assert.equal(oldest.entries[0]?.name, 'b.txt');
    assert.equal(await files.code({ ...LIST, path: 'no' }), 'not_found');
    assert.equal(await files.code({ ...LIST, path: 'b.txt' }), 'impossible');
    assert.equal(await files.code({ ...LIST, path: 'link' }), 'impossible');
  });

  it('are written whole, belong to the account of the server, and keep their mode', async (t) => {
    const files = new TestFiles(t);
    const made = await files.ok('written', writing('conf/deep/a.yml', 'one'));
    assert.deepEqual([made.created, made.size], [true, 3]);
    const path = join(files.folder, 'conf/deep/a.yml');
    const stat = statSync(path);
    assert.equal(stat.mode & 0o7777, 0o644);
    if (OWNER !== null) {
      assert.equal(stat.uid, OWNER.uid);
      assert.equal(statSync(join(files.folder, 'conf')).uid, OWNER.uid);
    }
    await files.ok('done', { kind: 'setMode', files: [{ path: 'conf/deep/a.yml', mode: 0o600 }] });
    const again = await files.ok('written', writing('conf/deep/a.yml', 'two'));
    assert.equal(again.created, false);
    assert.equal(statSync(path).mode & 0o7777, 0o600);
    const read = await files.ok('content', { kind: 'read', path: 'conf/deep/a.yml' });
    assert.equal(Buffer.from(read.content, 'base64').toString(), 'two');
    assert.equal(read.tag, again.tag);
    assert.deepEqual(readdirSync(join(files.folder, TMP)), []);
    assert.deepEqual(await files.names(), ['conf']);
  });

  it('are not overwritten by one who read something else', async (t) => {
    const files = new TestFiles(t);
    const { tag } = await files.ok('written', writing('a', 'one'));
    writeFileSync(join(files.folder, 'a'), 'by the game');
    assert.equal(await files.code(writing('a', 'two', { expected: tag })), 'changed');
    assert.equal(await files.code(writing('a', 'two', { expected: 'absent' })), 'changed');
    assert.equal(readFileSync(join(files.folder, 'a'), 'utf8'), 'by the game');
    const now = await files.ok('content', { kind: 'read', path: 'a' });
    assert.equal(await files.code(writing('a', 'two', { expected: now.tag })), 'written');
    assert.equal(await files.code(writing('new', 'x', { expected: 'absent' })), 'written');
  });

  it('take one of many writers who read the same', async (t) => {
    const files = new TestFiles(t);
    const { tag } = await files.ok('written', writing('a', 'one'));
    const texts = ['b', 'c', 'd', 'e', 'f'];
    const codes = await Promise.all(
      texts.map((text) => files.code(writing('a', text, { expected: tag }))),
    );
    assert.equal(codes.filter((code) => code === 'changed').length, 4);
    const winner = texts[codes.indexOf('written')];
    assert.equal(readFileSync(join(files.folder, 'a'), 'utf8'), winner);
  });

  it('of more than 4 MiB are not read at once', async (t) => {
    const files = new TestFiles(t);
    files.put('big');
    truncateSync(join(files.folder, 'big'), 4 * 1024 * 1024 + 1);
    assert.equal(await files.code({ kind: 'read', path: 'big' }), 'too_large');
  });

  it('are moved and renamed, and never onto something that is there', async (t) => {
    const files = new TestFiles(t);
    files.put('a', '1');
    files.put('b', '2');
    files.put('folder/c', '3');
    const move = (from: string, to: string, replace = false) =>
      ({ kind: 'move', moves: [{ from, to }], replace }) as const;
    assert.equal(await files.code(move('a', 'b')), 'exists');
    assert.equal(await files.code(move('folder', 'b')), 'exists');
    assert.equal(await files.code(move('no', 'x')), 'not_found');
    assert.equal(await files.code(move('folder', 'folder/inside')), 'impossible');
    await files.ok('done', move('folder', 'made/on/the/way'));
    assert.equal(readFileSync(join(files.folder, 'made/on/the/way/c'), 'utf8'), '3');
    await files.ok('done', move('a', 'b', true));
    assert.equal(readFileSync(join(files.folder, 'b'), 'utf8'), '1');
    // What was replaced is in the bin.
    const { items } = await files.ok('bin', { kind: 'listBin' });
    assert.deepEqual(
      items.map(({ path }) => path),
      ['b'],
    );
    const several = await files.ok('done', {
      kind: 'move',
      moves: [
        { from: 'b', to: 'z' },
        { from: 'gone', to: 'y' },
      ],
      replace: false,
    });
    assert.deepEqual(
      [several.done, several.failed.map(({ code }) => code)],
      [['b'], ['not_found']],
    );
  });

  it('are in the bin also where the disk fails after they were moved there', async (t) => {
    const files = new TestFiles(t);
    files.put('a', '1');
    const fails = (): Promise<never> => Promise.reject(new Error('EIO'));
    const sync = t.mock.method(Folder.prototype, 'sync', fails);
    const deletion = { kind: 'delete', paths: ['a'], forGood: false } as const;
    await files.call(deletion).catch(() => undefined);
    sync.mock.restore();
    assert.deepEqual(await files.names(), []);
    const { items } = await files.ok('bin', { kind: 'listBin' });
    assert.deepEqual(
      items.map(({ path }) => path),
      ['a'],
    );
  });

  it('are in the bin when deleted, come back from it, and leave it after seven days', async (t) => {
    const files = new TestFiles(t);
    files.put('world/region/r.mca', 'x');
    files.put('a', '1');
    files.put('b', '2');
    await files.ok('done', { kind: 'delete', paths: ['world/region', 'a'], forGood: false });
    assert.deepEqual(await files.names(), ['world', 'b']);
    const { items, days } = await files.ok('bin', { kind: 'listBin' });
    assert.deepEqual(items.map(({ path, type }) => [path, type]).toSorted(byPath), [
      ['a', 'file'],
      ['world/region', 'folder'],
    ]);
    assert.equal(days, 7);
    const ids = items.map(({ id }) => id);
    files.put('a', 'newer');
    const back = await files.ok('done', { kind: 'restore', ids });
    assert.equal(back.done.length, 1);
    assert.deepEqual(
      back.failed.map(({ code }) => code),
      ['exists'],
    );
    assert.equal(readFileSync(join(files.folder, 'world/region/r.mca'), 'utf8'), 'x');
    await files.ok('done', { kind: 'delete', paths: ['b'], forGood: true });
    const left = await files.ok('bin', { kind: 'listBin' });
    assert.deepEqual(
      left.items.map(({ path }) => path),
      ['a'],
    );
    // Eight days later.
    const bin = join(files.folder, '.portcullis/bin');
    const [id = ''] = readdirSync(bin);
    const old = (Date.now() - 8 * 86_400_000).toString(36) + id.slice(id.indexOf('-'));
    renameSync(join(bin, id), join(bin, old));
    await files.ok('done', { kind: 'delete', paths: ['a'], forGood: true });
    while (readdirSync(bin).length + readdirSync(join(files.folder, TMP)).length > 0)
      await delay(5);
  });

  it('are copied by a job, with folders, and without links and devices', async (t) => {
    const files = new TestFiles(t);
    files.put('world/level.dat', 'level');
    files.put('world/region/r.mca', 'region');
    symlinkSync(join(files.outside, 'secret'), join(files.folder, 'world/link'));
    const { job } = await files.ok('job', { kind: 'copy', from: 'world', to: 'backup/world' });
    assert.equal(job.state, 'done');
    assert.match(job.notes.join(), /link was left out/);
    assert.equal(readFileSync(join(files.folder, 'backup/world/region/r.mca'), 'utf8'), 'region');
    assert.equal(existsSync(join(files.folder, 'backup/world/link')), false);
    assert.equal(await files.code({ kind: 'copy', from: 'world', to: 'backup/world' }), 'exists');
    const { jobs } = await files.ok('jobs', { kind: 'listJobs' });
    assert.deepEqual(
      jobs.map(({ kind, state }) => [kind, state]),
      [['copy', 'done']],
    );
    const one = await files.ok('job', { kind: 'copy', from: 'world/level.dat', to: 'copy.dat' });
    assert.equal(one.job.bytes, 5);
  });

  it('are found by a part of the name, a pattern, or their text', async (t) => {
    const files = new TestFiles(t);
    files.put('conf/server.properties', 'motd=Hello\nmax-players=20\n');
    files.put('conf/other.yml', 'say: hello again\n');
    files.put('data.bin', Buffer.from('hello\0'));
    const search = (name: string | null, text: string | null) =>
      files.ok('found', { kind: 'search', path: '', name, text, limit: 10 });
    const names = async (name: string) => (await search(name, null)).found.map(({ path }) => path);
    assert.deepEqual(await names('SERVER'), ['conf/server.properties']);
    assert.deepEqual(await names('*.yml'), ['conf/other.yml']);
    const { found, complete } = await search(null, 'hello');
    assert.equal(complete, true);
    assert.deepEqual(found.map(({ path, line, text }) => [path, line, text]).toSorted(byPath), [
      ['conf/other.yml', 1, 'say: hello again'],
      ['conf/server.properties', 1, 'motd=Hello'],
    ]);
  });

  it('are found by the lines of their text, whatever lines it has', async (t) => {
    const files = new TestFiles(t);
    const long = `${'x'.repeat(1_000)}here${'y'.repeat(1_000)}`;
    // A letter that becomes two in small ones, an end of a line in two bytes, two hits in a line.
    files.put('a', `HERE first\n\u0130 \u0130 here\r\n${long}\nhere and here`);
    files.put('b', 'here\n'.repeat(30));
    files.put('c', `${'\n'.repeat(4 * 1024 * 1024 - 4)}here`);
    const { found } = await files.ok('found', {
      kind: 'search',
      path: '',
      name: null,
      text: 'Here',
      limit: 100,
    });
    const of = (name: string) =>
      found.filter(({ path }) => path === name).map(({ line, text }) => [line, text]);
    assert.deepEqual(of('a'), [
      [1, 'HERE first'],
      [2, '\u0130 \u0130 here'],
      [3, `${'x'.repeat(100)}here${'y'.repeat(296)}`],
      [4, 'here and here'],
    ]);
    assert.deepEqual(
      of('b'),
      Array.from({ length: 20 }, (_, index) => [index + 1, 'here']),
    );
    assert.deepEqual(of('c'), [[4 * 1024 * 1024 - 3, 'here']]);
  });

  it('are measured by folder', async (t) => {
    const files = new TestFiles(t);
    files.put('world/a', Buffer.alloc(100_000, 1));
    files.put('small', 'x');
    const { children, complete } = await files.ok('measured', { kind: 'measure', path: '' });
    assert.equal(complete, true);
    assert.deepEqual(
      children.map(({ name, entries }) => [name, entries]),
      [
        ['world', 2],
        ['small', 1],
      ],
    );
    assert.ok((children[0]?.bytes ?? 0) >= 100_000);
  });

  it('with names that are not UTF-8 are listed, renamed and deleted', async (t) => {
    const files = new TestFiles(t);
    const raw = Buffer.concat([Buffer.from(`${files.folder}/caf`), Buffer.of(0xe9)]);
    writeFileSync(raw, 'x');
    mkdirSync(Buffer.concat([Buffer.from(`${files.folder}/new\nline`)]));
    const names = await files.names();
    assert.deepEqual(names, ['new\uef0aline', 'caf\uefe9']);
    const [folder = '', file = ''] = names;
    await files.ok('done', { kind: 'move', moves: [{ from: file, to: 'café' }], replace: false });
    await files.ok('done', { kind: 'delete', paths: [folder], forGood: false });
    assert.deepEqual(await files.names(), ['café']);
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

/** Orders rows that begin with a path. */
function byPath(a: readonly unknown[], b: readonly unknown[]): number {
  return String(a[0]) < String(b[0]) ? -1 : 1;
}
