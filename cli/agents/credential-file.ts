import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { print, printJson, warn } from '../output.ts';

/** The default credential file of the edge or the node of this host. */
export function credentialFile(dataDir: string, kind: 'edge' | 'node'): string {
  return join(dataDir, kind, 'credential');
}

/** Writes the file atomically, readable only by its owner. */
export function saveCredential(file: string, credential: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const fresh = `${file}.new`;
  writeFileSync(fresh, `${credential}\n`, { mode: 0o600 });
  // An existing file keeps its mode when it is opened.
  chmodSync(fresh, 0o600);
  renameSync(fresh, file);
}

/** Returns null if the file does not exist or is empty. */
export function readCredential(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').trim() || null;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

/** Shows a new credential, or saves it to a file. */
export function saveOrPrint(enrolled: {
  readonly kind: 'edge' | 'node' | 'collector';
  readonly name: string;
  readonly credential: string;
  readonly file: string | undefined;
  readonly asJson: boolean;
}): void {
  const { kind, name, credential, file, asJson } = enrolled;
  if (file !== undefined) saveCredential(file, credential);
  if (asJson) printJson({ [kind]: name, ...(file === undefined ? { credential } : { file }) });
  else if (file === undefined) {
    print(credential);
    warn('This credential is not shown again. A previous one stops working.');
  } else {
    print(`The credential of ${name} is in ${file}. A previous one stops working.`);
  }
}
