import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '..', '..');

test('every line of the threat model names tests, and each of them exists', () => {
  const text = readFileSync(join(ROOT, 'SECURITY.md'), 'utf8');
  const model = text.slice(text.indexOf('## Threat model'), text.indexOf('## Known limits'));
  const rows = model
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| crosses it'));
  assert.ok(rows.length > 20, `${rows.length} rows`);
  for (const row of rows) {
    const shown = row.split('|').at(-2) ?? '';
    const paths = [...shown.matchAll(/`([^`]+\.test\.ts)`/g)].map(([, path]) => path ?? '');
    assert.ok(paths.length > 0, `no test is named: ${row}`);
    for (const path of paths) assert.ok(existsSync(join(ROOT, path)), `${path} is gone`);
  }
});
