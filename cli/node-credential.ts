import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Where a node of this host keeps what control knows it by. */
export function credentialFile(dataDir: string): string {
  return join(dataDir, 'node', 'credential');
}

/** For its owner alone; whole or not at all. */
export function saveCredential(file: string, credential: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const fresh = `${file}.new`;
  writeFileSync(fresh, `${credential}\n`, { mode: 0o600 });
  // The mode of a file that was there already is its own.
  chmodSync(fresh, 0o600);
  renameSync(fresh, file);
}

/** null: there is none. */
export function readCredential(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').trim() || null;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}
