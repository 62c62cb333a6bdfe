import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { renderSchema, SCHEMA_FILE } from './build-schema.ts';
import { readFleetFile } from '../read/read.ts';

const EXAMPLE = new URL('../../../../examples/fleet.yaml', import.meta.url);

test('the committed schema equals the definition', async () => {
  assert.equal(await readFile(SCHEMA_FILE, 'utf8'), renderSchema());
});

test('a strict validator accepts the schema, and the example by it', async () => {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
  const validate = ajv.compile(JSON.parse(await readFile(SCHEMA_FILE, 'utf8')));
  assert.equal(
    validate(parse(await readFile(EXAMPLE, 'utf8'))),
    true,
    JSON.stringify(validate.errors),
  );
  assert.equal(validate({ edges: [{ name: 'a' }] }), false);
});

test('reports an unreadable, binary or endless file as a mistake', async () => {
  for (const path of ['/nonexistent/fleet.yaml', '/dev/zero', '/']) {
    const read = await readFleetFile(path, {});
    assert.ok(!read.ok && read.mistakes.length > 0);
    assert.equal(read.mistakes[0]?.file, path);
  }
  const binary = await readFleetFile(process.execPath, {});
  assert.match(binary.ok ? '' : (binary.mistakes[0]?.message ?? ''), /larger|not text/);
});
