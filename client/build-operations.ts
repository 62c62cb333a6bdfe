import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildOpenApi } from '@portcullis/contract/openapi.ts';
import { VERSIONS } from '@portcullis/contract/openapi-texts.ts';
import { operationsText, type Document } from './typescript-text.ts';

/**
 * Writes generated/operations.ts from the endpoint tables; with `--check` only compares, and fails when they differ. The client
 * has types and paths as text of its own, so that its package needs no other.
 */
const path = join(import.meta.dirname, 'generated', 'operations.ts');
const documents = VERSIONS.map((version) => ({
  version,
  document: buildOpenApi(version) as unknown as Document,
}));
const text = operationsText(documents);

if (!process.argv.includes('--check')) writeFileSync(path, text);
else if (readFileSync(path, 'utf8') !== text) {
  console.error(`${path} is not what the endpoint tables say: run npm run build:openapi`);
  process.exitCode = 1;
}
