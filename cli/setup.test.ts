import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

/** A copy of /etc in memory, in a mount namespace: the accounts of this machine stay as they are. */
const OWN_ETC = `set -e
mount -t tmpfs tmpfs "$1"; cp -a /etc/passwd /etc/group /etc/login.defs "$1" 2>/dev/null || true
cp -a /etc/shadow /etc/gshadow "$1" 2>/dev/null || true
sed -i /^portcullis:/d "$1"/*
mount --bind "$1" /etc
shift; "$@"; "$@"; grep ^portcullis: /etc/passwd`;

const canMount =
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;

test('setup creates the account once, with no login and no home', {
  skip: canMount ? false : 'needs root and mounts',
}, (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-setup-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const setup = [process.execPath, join(import.meta.dirname, 'main.ts'), 'setup', '--data'];
  const run = spawnSync(
    'unshare',
    [
      '--mount',
      '--propagation',
      'private',
      'sh',
      '-c',
      OWN_ETC,
      'sh',
      folder,
      ...setup,
      `${folder}/data`,
    ],
    { encoding: 'utf8' },
  );
  assert.equal(run.status, 0, run.stderr);
  const [first, second, entry] = run.stdout.trim().split('\n');
  assert.match(
    first ?? '',
    /^Control and PostgreSQL run as portcullis \(uid \d+\)\. Data is kept in /,
  );
  assert.equal(second, first);
  assert.match(entry ?? '', /^portcullis:[^:]*:\d+:\d+:[^:]*:\/nonexistent:\/usr\/sbin\/nologin$/);
});
