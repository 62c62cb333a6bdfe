import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildOpenApi } from './openapi.ts';

/**
 * Writes openapi/<version>.json; with `--check` only compares, and fails when they differ. Not of the portal's own
 * endpoints: callers do not use them, and the page has its types from `client/`.
 */
const folder = join(import.meta.dirname, 'openapi');
const checking = process.argv.includes('--check');

mkdirSync(folder, { recursive: true });
for (const version of ['v1', 'x1', 'operator'] as const) {
  const path = join(folder, `${version}.json`);
  const text = `${JSON.stringify(buildOpenApi(version), null, 2)}\n`;
  if (!checking) {
    writeFileSync(path, text);
  } else if (readOrEmpty(path) !== text) {
    console.error(`${path} is not what the endpoint tables say: run npm run build:openapi`);
    process.exitCode = 1;
  }
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
