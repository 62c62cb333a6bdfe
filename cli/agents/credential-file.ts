import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import { parseCredential } from '@portcullis/link/credential.ts';

/** The default credential file of an agent of this host. */
export function credentialFile(dataDir: string, kind: AgentRef['kind']): string {
  return join(dataDir, kind, 'credential');
}

/** Where an agent of this host saves another credential; null: it has the present one of a variable. */
export function renewableFile(kind: 'edge' | 'node' | 'collector', file: string): string | null {
  return process.env[`PORTCULLIS_${kind.toUpperCase()}_CREDENTIAL`] === undefined ? file : null;
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

/** The name in a credential for another host than control's; null: it has none. */
export function nameIn(credential: string | null): string | null {
  const parsed = parseCredential(credential ?? '');
  return parsed.ok ? (parsed.value.remote?.name ?? null) : null;
}
