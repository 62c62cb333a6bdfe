import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { require } from '@portcullis/lab/requirements.ts';
import { mountOf } from './protected-mount.ts';

const MOUNTS = `25 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
26 25 0:24 / /srv rw,nosuid,nodev,noexec shared:2 - tmpfs tmpfs rw,size=1k
27 26 0:25 / /srv/a\\040b ro,relatime - ext4 /dev/vdb rw,nosuid
28 26 0:25 / /srv/a\\040b rw,noatime - ext4 /dev/vdb rw
`;

it('finds the mount of a path: the last of those with the longest prefix', () => {
  const at = (path: string) => mountOf(MOUNTS, path);
  assert.deepEqual(at('/home/x'), { isExact: false, options: ['rw', 'relatime'] });
  assert.deepEqual(at('/srvelse')?.options, ['rw', 'relatime']);
  assert.deepEqual(at('/srv'), { isExact: true, options: ['rw', 'nosuid', 'nodev', 'noexec'] });
  assert.deepEqual(at('/srv/a b/c'), { isExact: false, options: ['rw', 'noatime'] });
  assert.equal(mountOf('', '/srv'), null);
});

it('makes set-user-id programs and devices of a folder harmless, once, and what is mounted of it elsewhere too', (t) => {
  if (!require(t, ['netns'])) return;
  const folder = mkdtempSync(join(tmpdir(), 'pcl-protected-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const script = `
    const { isProtected, protectFolder, releaseFolder } = await import(${JSON.stringify(join(import.meta.dirname, 'protected-mount.ts'))});
    const base = ${JSON.stringify(folder)};
    const folder = base + '/servers';
    const { execFileSync } = await import('node:child_process');
    const { mkdirSync, chmodSync, copyFileSync } = await import('node:fs');
    const asOther = (path) => execFileSync('setpriv', ['--reuid=12345', '--clear-groups', path, '-u'], { encoding: 'utf8' }).trim();
    // Whatever the options of the machine's own are.
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'suid,dev,exec', 'tmpfs', base]);
    mkdirSync(folder + '/server', { recursive: true });
    for (const path of [base, folder, folder + '/server']) chmodSync(path, 0o755);
    copyFileSync('/usr/bin/id', folder + '/server/id');
    chmodSync(folder + '/server/id', 0o4755);
    const look = (path) => [isProtected(path), asOther(path + '/id')];
    const before = look(folder + '/server');
    const protects = [protectFolder(folder), protectFolder(folder)];
    const after = look(folder + '/server');
    execFileSync('mount', ['--bind', folder + '/server', '/mnt']);
    const elsewhere = look('/mnt');
    releaseFolder(folder);
    const released = isProtected(folder);
    console.log(JSON.stringify({ before, protects, after, elsewhere, released }));`;
  const printed = execFileSync(
    'unshare',
    ['--mount', process.execPath, '--input-type=module', '-e', script],
    { encoding: 'utf8' },
  );
  // `id -u` prints the effective account: root's, where set-user-id works.
  assert.deepEqual(JSON.parse(printed), {
    before: [false, '0'],
    protects: [true, false],
    after: [true, '12345'],
    elsewhere: [true, '12345'],
    released: false,
  });
});
