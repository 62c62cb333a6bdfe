import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { FleetSchema } from './schema.ts';

/** The committed schema for editors. */
export const SCHEMA_FILE = fileURLToPath(new URL('fleet.schema.json', import.meta.url));

export function renderSchema(): string {
  // Editors need no marks of the readers.
  const plain = (name: string, part: unknown) => (name.startsWith('x-') ? undefined : part);
  return `${JSON.stringify(FleetSchema, plain, 2)}\n`;
}

async function main(check: boolean): Promise<void> {
  const wanted = renderSchema();
  if (!check) return writeFile(SCHEMA_FILE, wanted);
  const found = await readFile(SCHEMA_FILE, 'utf8').catch(() => '');
  if (found === wanted) return;
  process.stderr.write('fleet.schema.json is not what schema.ts says: npm run build:schema\n');
  process.exitCode = 1;
}

if (import.meta.main) await main(process.argv.includes('--check'));
