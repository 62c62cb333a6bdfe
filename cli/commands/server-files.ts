import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerFile } from '@portcullis/control/nats/server-files.ts';

/** Collects an option that may be given several times. */
export function append(value: string, previous: readonly string[] = []): string[] {
  return [...previous, value];
}

/** Secret files are readable by their owner only. */
export function saveFiles(folder: string, files: readonly ServerFile[]): void {
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  for (const { name, text, isSecret } of files) {
    const path = join(folder, name);
    const mode = isSecret ? 0o600 : 0o644;
    writeFileSync(path, text, { mode });
    // An existing file keeps its mode when it is opened.
    chmodSync(path, mode);
  }
}
