import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { FILTERS } from '@portcullis/core/filters/catalogue.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const SECTIONS = ['Lets through', 'Drops', 'Limits', 'Cannot', 'Foreign traffic', 'Tested with'];

/** docs/adding-a-filter.md */
describe('each filter of the catalogue', () => {
  const index = readFileSync(join(ROOT, 'docs/filters/README.md'), 'utf8');

  for (const { type, category, name, usualPorts } of FILTERS) {
    it(`${type} has its data, its test, its page and its line in the index`, () => {
      for (const file of [
        `core/filters/${category}/${type}.ts`,
        `lab/system/filters/${category}/${type}.test.ts`,
      ]) {
        assert.ok(existsSync(join(ROOT, file)), file);
      }
      const page = readFileSync(join(ROOT, `docs/filters/${type}.md`), 'utf8');
      assert.ok(page.startsWith(`# ${name}\n`));
      for (const section of SECTIONS) assert.ok(page.includes(`\n## ${section}\n`), section);
      const ports = usualPorts.length === 0 ? 'any' : usualPorts.join(', ');
      assert.ok(index.includes(`| [${type}](${type}.md) | ${name} | ${ports} |`));
    });
  }
});
