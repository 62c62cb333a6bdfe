import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '..', '..');
/** Ways by which a text becomes markup, script or a URL of a scheme that runs one. */
const TEXT_AS_CODE =
  /dangerouslySetInnerHTML|\b(?:inner|outer)HTML\b|insertAdjacentHTML|createContextualFragment|document\.write|\bsrcDoc\b|\beval\(|new Function\(|javascript:/;

test('no text becomes markup or script in the portal, whoever wrote it', () => {
  const files = globSync('portal/{src/**/*.{ts,tsx},index.html}', { cwd: ROOT }).filter(
    (file) => !file.endsWith('.test.ts'),
  );
  assert.ok(files.length > 100, `${files.length} files`);
  for (const file of files) {
    const [found] = TEXT_AS_CODE.exec(readFileSync(join(ROOT, file), 'utf8')) ?? [];
    assert.equal(found, undefined, file);
  }
});
