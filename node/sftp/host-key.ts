import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '@portcullis/core/log.ts';
import { fingerprintOf } from '@portcullis/link/ssh-key.ts';
import ssh2 from 'ssh2';

export interface HostKey {
  /** In the format of OpenSSH; a secret. */
  readonly secret: string;
  /** The form that `ssh-keygen -l` shows. */
  readonly fingerprint: string;
}

/**
 * The key by which clients know this node. It is made once: another one is an attack to them. One that no program can read
 * serves nobody; it is kept under another name, and a new one takes its place.
 */
export function loadHostKey(stateDir: string, log: Pick<Log, 'warn'>): HostKey {
  const path = join(stateDir, 'sftp-host-key');
  const kept = existsSync(path) ? parseHostKey(readFileSync(path, 'utf8')) : null;
  if (kept !== null) {
    chmodSync(path, 0o600);
    return kept;
  }
  if (existsSync(path)) {
    renameSync(path, `${path}.unreadable`);
    log.warn(
      { kept: `${path}.unreadable` },
      'the SSH key of this node cannot be read, and a new one is made: clients that knew the old one warn of it',
    );
  }
  const made = makeHostKey();
  mkdirSync(stateDir, { recursive: true });
  writeFileSync(`${path}.new`, made.secret, { mode: 0o600 });
  renameSync(`${path}.new`, path);
  return made;
}

/** The library cuts zeros off the front of a public key, which one of 256 begins with, and cannot read that key itself. */
function makeHostKey(): HostKey {
  for (;;) {
    const made = parseHostKey(ssh2.utils.generateKeyPairSync('ed25519').private);
    if (made !== null) return made;
  }
}

/** Null for what is no key. */
function parseHostKey(secret: string): HostKey | null {
  const key = ssh2.utils.parseKey(secret);
  if (key instanceof Error || !key.isPrivateKey()) return null;
  return { secret, fingerprint: fingerprintOf(key.getPublicSSH()) };
}
