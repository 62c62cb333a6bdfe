import assert from 'node:assert/strict';
import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { assertRefused, dataOf } from '@portcullis/control/testing/client.ts';
import { type TarEntry, tarOf, zipOf } from '@portcullis/node/files/archives/testing/archives.ts';
import { rarOf } from '@portcullis/node/files/archives/testing/rar.ts';
import { FolderWatch } from '@portcullis/node/files/testing/files.ts';
import { skipUnless } from '../../requirements.ts';
import { FILES, type Job, startFiles } from './world.ts';

const EVIL: readonly TarEntry[] = [
  [{ name: 'link', type: 'symlink', linkname: '../../outside' }],
  [{ name: 'link/secret' }, 'evil'],
  [{ name: 'hard', type: 'link', linkname: '../../outside/secret' }],
  [{ name: 'disk', type: 'block-device', devmajor: 8, devminor: 0 }],
  [{ name: 'suid', mode: 0o6755 }, 'x'],
];

/** The same in every format that can hold it. */
const FORMATS: Readonly<Record<string, () => Promise<Buffer>>> = {
  tar: () => tarOf(...EVIL),
  'tar.gz': async () => gzipSync(await tarOf(...EVIL)),
  'tar.zst': async () => zstdCompressSync(await tarOf(...EVIL)),
  zip: () =>
    zipOf(['link', '../../outside', 0o120777], ['link/secret', 'evil'], ['suid', 'x', 0o106755]),
  rar: async () =>
    rarOf(
      { name: 'link', link: '../../outside' },
      { name: 'link/secret', content: 'evil' },
      { name: 'suid', content: 'x', mode: 0o106755 },
    ),
};

describe('a hostile archive, by the API', () => {
  for (const [format, make] of Object.entries(FORMATS)) {
    const skip = format === 'rar' && skipUnless(['bsdtar']);
    it(`of the format ${format} leaves no link, device or set-user-id bit (CVE-2024-27102)`, {
      skip,
    }, async (t) => {
      const { files, key, ended } = await startFiles(t);
      const watch = new FolderWatch(files.outside);
      files.put('evil', await make());
      const reply = await key.post(`${FILES}/unpack`, { path: 'evil', to: 'out' });
      assert.equal(reply.status, 200, reply.text);
      const job = await ended();
      assert.equal(job.state, 'done');
      assert.match(job.notes.join(), /link was left out/);
      const out = join(files.folder, 'out');
      assert.deepEqual(readdirSync(out).toSorted(), ['link', 'suid']);
      assert.equal(lstatSync(join(out, 'link')).isDirectory(), true);
      assert.equal(lstatSync(join(out, 'suid')).mode & 0o7000, 0);
      watch.assertSame();
    });
  }

  const zeros = Buffer.alloc(100 * 1024 * 1024);
  const bombs: Readonly<Record<string, () => Promise<Buffer> | Buffer>> = {
    gz: () => gzipSync(zeros),
    zst: () => zstdCompressSync(zeros),
    zip: () => zipOf(['zeros', zeros]),
    // An archive whose content is an archive: only the outer one is unpacked.
    nested: async () => gzipSync(gzipSync(zeros)),
  };
  for (const [format, make] of Object.entries(bombs)) {
    it(`of the format ${format} that is a bomb fills no disk`, async (t) => {
      const { files, key } = await startFiles(t);
      files.limitMib = 8;
      files.put('bomb', await make());
      const reply = await key.post(`${FILES}/unpack`, { path: 'bomb', to: 'out' });
      if (format === 'nested') assert.equal(dataOf<Job>(reply).bytes < 1024 * 1024, true);
      else {
        assertRefused(reply, 422, 'limit_exceeded');
        assert.deepEqual(readdirSync(join(files.folder, 'out')), []);
      }
    });
  }

  it('of very many entries ends at the number that the disk of the server allows', async (t) => {
    const { files, key } = await startFiles(t);
    const names = Array.from({ length: 2_000 }, (_, index) => `d${index}/`);
    const folders = names.map((name) => [{ name, type: 'directory' }] as const);
    files.put('folders.tar', await tarOf(...folders));
    files.put('files.zip', await zipOf(...names.map((name) => [name.slice(0, -1), ''] as const)));
    files.limitMib = 1;
    for (const path of ['folders.tar', 'files.zip']) {
      const reply = await key.post(`${FILES}/unpack`, { path, to: path.slice(0, 5) });
      assertRefused(reply, 422, 'limit_exceeded');
    }
    const made = ['folde', 'files'].map((name) => join(files.folder, name));
    const count = made.flatMap((path) => (existsSync(path) ? readdirSync(path) : [])).length;
    assert.ok(count < 300, `${count}`);
  });
});
