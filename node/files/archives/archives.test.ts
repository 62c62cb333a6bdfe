import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { FolderWatch, TestFiles, writing } from '../testing/files.ts';
import { tarOf, zipOf } from './testing/archives.ts';

const unpacking = (path: string, to = 'out') => ({ kind: 'unpack', path, to }) as const;

describe('archives', () => {
  for (const format of ['zip', 'tar', 'tar.gz', 'tar.zst'] as const) {
    it(`of the format ${format} hold files and folders, and come back equal`, async (t) => {
      const files = new TestFiles(t);
      files.put('world/level.dat', Buffer.alloc(700_000, 7));
      files.put('world/region/größe.mca', 'region');
      files.put('world/empty', '');
      files.put('start.sh', '#!/bin/sh');
      execFileSync('chmod', ['755', join(files.folder, 'start.sh')]);
      symlinkSync(join(files.outside, 'secret'), join(files.folder, 'world/link'));
      const paths = ['world', 'start.sh'];
      const to = `backups/all.${format}`;
      const { job } = await files.ok('job', { kind: 'archive', paths, to, format });
      assert.deepEqual([job.state, job.entries], ['done', 4]);
      assert.match(job.notes.join(), /link was left out/);
      const back = await files.ok('job', unpacking(to));
      assert.deepEqual([back.job.state, back.job.notes], ['done', []]);
      const same = execFileSync(
        'sh',
        ['-c', 'rm world/link; diff -r world out/world && diff start.sh out/start.sh'],
        { cwd: files.folder, encoding: 'utf8' },
      );
      assert.equal(same, '');
      assert.equal(lstatSync(join(files.folder, 'out/start.sh')).mode & 0o7777, 0o755);
      // Unpacked again, its files replace the earlier ones.
      await files.ok('written', writing('out/start.sh', 'changed'));
      await files.ok('job', unpacking(to));
      assert.equal(readFileSync(join(files.folder, 'out/start.sh'), 'utf8'), '#!/bin/sh');
      assert.equal(await files.code({ kind: 'archive', paths, to, format }), 'exists');
    });
  }

  it('may be one file alone, compressed', async (t) => {
    const files = new TestFiles(t);
    files.put('latest.log.gz', gzipSync('lines'));
    files.put('map.zst', zstdCompressSync(Buffer.from('map')));
    await files.ok('job', unpacking('latest.log.gz'));
    await files.ok('job', unpacking('map.zst'));
    assert.equal(readFileSync(join(files.folder, 'out/latest.log'), 'utf8'), 'lines');
    assert.equal(readFileSync(join(files.folder, 'out/map'), 'utf8'), 'map');
    files.put('text', 'no archive');
    assert.equal(await files.code(unpacking('text')), 'impossible');
  });
});

describe('hostile archives', () => {
  it('with names that lead out of the folder end at that name, and write nothing there', async (t) => {
    const files = new TestFiles(t);
    const watch = new FolderWatch(files.outside);
    for (const name of [
      '../outside/new',
      'a/../../outside/new',
      '.portcullis/bin/x',
      'a/.././../b',
    ]) {
      files.put('evil.tar', await tarOf([{ name: 'good' }, 'x'], [{ name }, 'evil']));
      assert.equal(await files.code(unpacking('evil.tar', '')), 'impossible', name);
    }
    const zip = await zipOf(['aa/bb/evil', 'evil']);
    files.put(
      'evil.zip',
      Buffer.from(zip.toString('latin1').replaceAll('aa/bb/', '../..//'), 'latin1'),
    );
    assert.equal(await files.code(unpacking('evil.zip')), 'impossible');
    watch.assertSame();
    // Absolute names are names below the folder.
    files.put('abs.tar', await tarOf([{ name: '/etc/passwd' }, 'mine']));
    await files.ok('job', unpacking('abs.tar'));
    assert.equal(readFileSync(join(files.folder, 'out/etc/passwd'), 'utf8'), 'mine');
  });

  it('leave no link, device, pipe or set-user-id bit, and write through none', async (t) => {
    const files = new TestFiles(t);
    const watch = new FolderWatch(files.outside);
    const archive = await tarOf(
      [{ name: 'link', type: 'symlink', linkname: files.outside }],
      [{ name: 'link/secret' }, 'evil'],
      [{ name: 'hard', type: 'link', linkname: '../../outside/secret' }],
      [{ name: 'null', type: 'character-device', devmajor: 1, devminor: 3 }],
      [{ name: 'pipe', type: 'fifo' }],
      [{ name: 'suid', mode: 0o6755 }, 'x'],
      [{ name: 'dir/', type: 'directory', mode: 0o7777 }],
    );
    files.put('evil.tar', archive);
    const { job } = await files.ok('job', unpacking('evil.tar'));
    assert.equal(job.notes.length, 4, job.notes.join(' '));
    const out = join(files.folder, 'out');
    assert.deepEqual(readdirSync(out).toSorted(), ['dir', 'link', 'suid']);
    assert.equal(lstatSync(join(out, 'link')).isDirectory(), true);
    assert.equal(lstatSync(join(out, 'suid')).mode & 0o7777, 0o755);
    assert.equal(lstatSync(join(out, 'dir')).mode & 0o7000, 0);
    // Of a link that is there already.
    symlinkSync(files.outside, join(files.folder, 'there'));
    files.put(
      'more.tar',
      await tarOf([{ name: 'there/secret' }, 'evil'], [{ name: 'there' }, 'x']),
    );
    const more = await files.ok('job', unpacking('more.tar', ''));
    assert.equal(more.job.notes.length, 2);
    files.put('link.zip', await zipOf(['zip-link', '/etc', 0o120777]));
    const zipped = await files.ok('job', unpacking('link.zip', ''));
    assert.match(zipped.job.notes.join(), /zip-link was left out/);
    assert.equal(existsSync(join(files.folder, 'zip-link')), false);
    watch.assertSame();
  });

  it('that are bombs end early, whatever they say of their size', async (t) => {
    const files = new TestFiles(t);
    files.limitMib = 0;
    const zeros = Buffer.alloc(1024 * 1024);
    const bomb = gzipSync(Buffer.concat(Array.from({ length: 200 }, () => zeros)));
    files.put('bomb.gz', bomb);
    assert.equal(await files.code(unpacking('bomb.gz')), 'too_large');
    files.limitMib = 8;
    files.put('small.gz', gzipSync(Buffer.alloc(20 * 1024 * 1024)));
    assert.equal(await files.code(unpacking('small.gz')), 'quota');
    assert.deepEqual(readdirSync(join(files.folder, 'out')), []);
    const zip = await zipOf(['a', 'x'.repeat(5_000_000)]);
    // Says that it is small.
    zip.writeUInt32LE(10, zip.indexOf(Buffer.from('504b0102', 'hex')) + 24);
    files.put('lie.zip', zip);
    assert.equal(await files.code(unpacking('lie.zip')), 'impossible');
    assert.deepEqual(readdirSync(join(files.folder, 'out')), []);
  });

  it('that are cut off or broken leave whole files only', async (t) => {
    const files = new TestFiles(t);
    const whole = await tarOf(
      [{ name: 'a' }, 'a'.repeat(5_000)],
      [{ name: 'b' }, 'b'.repeat(90_000)],
    );
    files.put('cut.tar', whole.subarray(0, 60_000));
    files.put('cut.tar.gz', gzipSync(whole).subarray(0, 150));
    files.put('broken.zip', Buffer.from('504b0304ffffffff', 'hex'));
    for (const path of ['cut.tar', 'cut.tar.gz', 'broken.zip'])
      assert.equal(await files.code(unpacking(path)), 'impossible', path);
    const out = join(files.folder, 'out');
    if (existsSync(out))
      for (const name of readdirSync(out))
        assert.equal(lstatSync(join(out, name)).size, 5_000, name);
  });

  it('pass neither the denylist nor the rights', async (t) => {
    const files = new TestFiles(t);
    files.denylist = ['secret.yml'];
    files.put('conf/secret.yml', 'token');
    files.put('conf/open.yml', 'x');
    files.put(
      'in.tar',
      await tarOf([{ name: 'conf/secret.yml' }, 'mine'], [{ name: 'other' }, 'x']),
    );
    const { job } = await files.ok('job', unpacking('in.tar', ''));
    assert.match(job.notes.join(), /secret\.yml was left out/);
    assert.equal(readFileSync(join(files.folder, 'conf/secret.yml'), 'utf8'), 'token');
    const out = { kind: 'archive', paths: ['conf'], to: 'out.tar', format: 'tar' } as const;
    const packed = await files.ok('job', out);
    assert.match(packed.job.notes.join(), /secret\.yml was left out/);
    assert.doesNotMatch(readFileSync(join(files.folder, 'out.tar'), 'latin1'), /token/);
    assert.equal(await files.code({ ...out, paths: ['conf/secret.yml'], to: 'x.tar' }), 'denied');
    for (const operation of [out, unpacking('in.tar')])
      assert.equal(
        await files.code(operation, ['file.read', 'file.create', 'file.read-content']),
        'forbidden',
      );
  });

  it('are cancelled in the middle, and leave nothing half', async (t) => {
    const files = new TestFiles(t);
    files.limitMib = 0;
    const names = Array.from({ length: 400 }, (_, index) => `f${index}`);
    files.put(
      'many.tar',
      await tarOf(...names.map((name) => [{ name }, 'x'.repeat(20_000)] as const)),
    );
    const begun = await files.call(unpacking('many.tar'), undefined, 20);
    assert.ok(begun === null || begun.kind === 'job');
    const { jobs } = await files.ok('jobs', { kind: 'listJobs' });
    const out = join(files.folder, 'out');
    while (!existsSync(out) || readdirSync(out).length === 0) await delay(1);
    const { job } = await files.ok('job', { kind: 'cancelJob', id: jobs[0]?.id ?? '' });
    assert.ok(['cancelled', 'done'].includes(job.state), job.state);
    for (const name of readdirSync(out)) assert.equal(lstatSync(join(out, name)).size, 20_000);
    while (readdirSync(join(files.folder, '.portcullis/tmp')).length > 0) await delay(5);
  });
});
