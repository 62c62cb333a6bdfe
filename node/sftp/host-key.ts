import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fingerprintOf } from '@portcullis/link/ssh-key.ts';
import ssh2 from 'ssh2';

export interface HostKey {
  /** In the format of OpenSSH; a secret. */
  readonly secret: string;
  /** The form that `ssh-keygen -l` shows. */
  readonly fingerprint: string;
}

/** The key by which clients know this node. It is made once: another one is an attack to them. */
export function loadHostKey(stateDir: string): HostKey {
  const path = join(stateDir, 'sftp-host-key');
  if (!existsSync(path)) {
    mkdirSync(stateDir, { recursive: true });
    writeFileSync(`${path}.new`, ssh2.utils.generateKeyPairSync('ed25519').private, {
      mode: 0o600,
    });
    renameSync(`${path}.new`, path);
  }
  chmodSync(path, 0o600);
  const secret = readFileSync(path, 'utf8');
  const key = ssh2.utils.parseKey(secret);
  if (key instanceof Error) throw new Error(`${path} is no key: ${key.message}`);
  return { secret, fingerprint: fingerprintOf(key.getPublicSSH()) };
}
