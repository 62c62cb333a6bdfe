import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createApplyConfigFiles } from '@portcullis/node/config-files/apply.ts';
import { EditProcess } from '@portcullis/node/config-files/edit-process.ts';

/** So that only the memory ends it. */
const LONG_MS = 110_000;
/** A node of the tree for every two bytes. Files of YAML have 1 MiB at most. */
const ITEMS = 520_000;

const SCOPE = {
  environment: {},
  uuid: '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11',
  allocation: { ip: '198.51.100.10', port: 25_565 },
  limits: { memory: 1024, cpu: 100, disk: 2048 },
};

test('a file of a game that needs much memory to edit costs the agent none of its own, and no other file', async (t) => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'portcullis-editor-')));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'large.yml'), `list: [${'a,'.repeat(ITEMS)}]\n`);
  writeFileSync(join(folder, 'small.yml'), 'key: 1\n');
  const apply = createApplyConfigFiles(new EditProcess(LONG_MS));
  const edit = (path: string) => {
    const replacements = [{ match: 'key', ifValue: null, value: 2 }];
    const files = [{ path, parser: 'yaml' as const, replacements }];
    return apply({ folder, files, scope: SCOPE, owner: null });
  };
  const problems = await edit('large.yml');
  assert.deepEqual(
    problems.map(({ detail }) => detail),
    ['Left as it is: it takes too much memory to edit.'],
  );
  assert.deepEqual(await edit('small.yml'), []);
  assert.equal(readFileSync(join(folder, 'small.yml'), 'utf8'), 'key: 2\n');
});

test('a small file that an edit would make large by its indentation is left as it is', async (t) => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'portcullis-editor-')));
  t.after(() => rmSync(folder, { recursive: true }));
  // Each zero would stand in a line of its own behind 10,000 spaces.
  const nested = `${'['.repeat(1_000)}${'0,'.repeat(5_000)}0${']'.repeat(1_000)}`;
  const text = `{\n          "list": ${nested}\n}\n`;
  writeFileSync(join(folder, 'small.json'), text);
  const replacements = [{ match: 'key', ifValue: null, value: 2 }];
  const files = [{ path: 'small.json', parser: 'json' as const, replacements }];
  const apply = createApplyConfigFiles(new EditProcess(LONG_MS));
  const problems = await apply({ folder, files, scope: SCOPE, owner: null });
  assert.deepEqual(
    problems.map(({ detail }) => detail),
    ['Left as it is: it would be larger than 16 MiB.'],
  );
  assert.equal(statSync(join(folder, 'small.json')).size, text.length);
});
