import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const fileIn = (dataDir: string): string => join(dataDir, 'public-url');

/**
 * Keeps the public URL of the control plane that is started on a data directory, for commands that print links and that do
 * not get its options. A URL with port 0 names no place, so then none is kept.
 */
export function savePublicUrl(dataDir: string, url: string): void {
  const file = fileIn(dataDir);
  if (url.endsWith(':0')) return rmSync(file, { force: true });
  mkdirSync(dataDir, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 });
  writeFileSync(`${file}.new`, `${url}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** Returns the public URL of the control plane that was started last on this data directory, or null if none was. */
export function readPublicUrl(dataDir: string): string | null {
  try {
    const text = readFileSync(fileIn(dataDir), 'utf8').trim();
    return URL.canParse(text) ? text : null;
  } catch {
    return null;
  }
}
