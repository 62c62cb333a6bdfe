import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import ssh2 from 'ssh2';
import { loadHostKey } from './host-key.ts';

function stateDir(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-sftp-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

const silent = { warn: (): void => assert.fail('nothing is wrong with the key') };

test('the key of the host is made once, and is nobody else’s to read', (t) => {
  const folder = stateDir(t);
  const first = loadHostKey(folder, silent);
  assert.deepEqual(loadHostKey(folder, silent), first);
  assert.match(first.fingerprint, /^SHA256:[A-Za-z0-9+/]{43}$/);
  assert.equal(statSync(join(folder, 'sftp-host-key')).mode & 0o777, 0o600);
});

test('every key that is made can be read again', (t) => {
  const folder = stateDir(t);
  // The library makes one of 256 that it cannot read.
  for (let count = 0; count < 2_000; count += 1) {
    rmSync(join(folder, 'sftp-host-key'), { force: true });
    loadHostKey(folder, silent);
    loadHostKey(folder, silent);
  }
});

test('a key that cannot be read is kept aside, and a new one made', (t) => {
  const folder = stateDir(t);
  const path = join(folder, 'sftp-host-key');
  for (const unreadable of ['', 'no key', unreadableKey()]) {
    writeFileSync(path, unreadable);
    const warnings: object[] = [];
    const made = loadHostKey(folder, { warn: (fields: object) => void warnings.push(fields) });
    assert.deepEqual(warnings, [{ kept: `${path}.unreadable` }]);
    assert.equal(readFileSync(`${path}.unreadable`, 'utf8'), unreadable);
    assert.deepEqual(loadHostKey(folder, silent), made);
  }
});

/** One that an earlier version kept. */
function unreadableKey(): string {
  for (;;) {
    const { private: secret } = ssh2.utils.generateKeyPairSync('ed25519');
    if (ssh2.utils.parseKey(secret) instanceof Error) return secret;
  }
}
