import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { renderSchema, SCHEMA_FILE } from './build-schema.ts';
import { readFleetFile } from '../read/read.ts';

const EXAMPLE = new URL('../../../examples/fleet.yaml', import.meta.url);

test('the committed schema is what the definition says', async () => {
  assert.equal(await readFile(SCHEMA_FILE, 'utf8'), renderSchema());
});

test('an independent validator takes the schema and accepts the example by it', async () => {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
  const validate = ajv.compile(JSON.parse(await readFile(SCHEMA_FILE, 'utf8')));
  assert.equal(
    validate(parse(await readFile(EXAMPLE, 'utf8'))),
    true,
    JSON.stringify(validate.errors),
  );
  assert.equal(validate({ edges: [{ name: 'a' }] }), false);
});

test('a file that cannot be read, is no text, or is endless is a mistake and no crash', async () => {
  for (const path of ['/nonexistent/fleet.yaml', '/dev/zero', '/']) {
    const read = await readFleetFile(path, {});
    assert.ok(!read.ok && read.mistakes.length > 0);
    assert.equal(read.mistakes[0]?.file, path);
  }
  const binary = await readFleetFile(process.execPath, {});
  assert.match(binary.ok ? '' : (binary.mistakes[0]?.message ?? ''), /larger|not text/);
});
