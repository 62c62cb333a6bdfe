import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { VECTOR_COUNT } from '@portcullis/core/attacks/vectors.ts';
import { readArtifact } from '../../kernel/bpf/bpf-artifact.ts';
import {
  CELL_FIELDS,
  VECTOR_FIELDS,
  COUNTING_BYTES,
  SUSPECT_BYTES,
} from '../counting/counter-maps.ts';
import { GREETINGS_BYTES } from '../compile/greetings.ts';
import { LAYOUT, valueBytes } from './layout.ts';
import { FORWARDING_BYTES, PORT_BYTES } from '../forwarding/forward-maps.ts';
import { LINE_BYTES, WIDE_BYTES } from './lines/encode.ts';
import { SETTINGS_BYTES } from './settings.ts';
import { STATELESS_DROP_BYTES } from '../compile/stateless-drops.ts';

/** Two cache lines. */
const PASS_BYTES = 128;
const header = readFileSync(join(import.meta.dirname, '..', 'bpf', 'layout.h'), 'utf8');
const artifact = readArtifact(join(import.meta.dirname, '..', 'bpf', 'early-drop.bpf.json'));

test('all shared constants are equal in C and TypeScript', () => {
  for (const [name, value] of Object.entries(LAYOUT)) {
    const definition = new RegExp(`^#define ${name} (.*)$`, 'm').exec(header)?.[1];
    assert.ok(definition, `layout.h has no ${name}`);
    const shifted = /^\(1u << (\d+)\)$/.exec(definition)?.[1];
    assert.equal(
      shifted === undefined ? Number(definition.replace(/u$/, '')) : 2 ** Number(shifted),
      value,
      name,
    );
  }
});

test('the programs classify packets by the vectors of the detector', () => {
  assert.equal(LAYOUT.VECTORS, VECTOR_COUNT);
});

test('values have the length that the programs define', () => {
  for (const family of [4, 6] as const) {
    assert.equal(artifact.maps[`small_${family}`]?.valueSize, valueBytes(family, 'small'));
    assert.equal(artifact.maps[`large_${family}`]?.valueSize, valueBytes(family, 'large'));
    assert.equal(artifact.maps[`lines_${family}`]?.valueSize, LINE_BYTES);
    assert.equal(artifact.maps[`prefix_${family}`]?.valueSize, valueBytes(family, 'large'));
  }
  assert.equal(artifact.maps['cells']?.valueSize, CELL_FIELDS * 8);
  assert.equal(artifact.maps['classes']?.valueSize, VECTOR_FIELDS * 8);
  assert.equal(artifact.maps['counting']?.valueSize, COUNTING_BYTES);
  assert.equal(artifact.maps['suspects']?.valueSize, LAYOUT.SUSPECTS * SUSPECT_BYTES);
  assert.equal(artifact.maps['wides']?.valueSize, WIDE_BYTES);
  assert.equal(artifact.maps['stateless_drops']?.valueSize, STATELESS_DROP_BYTES);
  assert.equal(artifact.maps['greetings']?.valueSize, GREETINGS_BYTES);
  assert.equal(artifact.maps['settings']?.valueSize, SETTINGS_BYTES);
  assert.equal(artifact.maps['forwarding']?.valueSize, FORWARDING_BYTES);
  assert.equal(artifact.maps['ports']?.valueSize, PORT_BYTES);
  assert.equal(artifact.maps['passes']?.valueSize, LAYOUT.PASS_WAYS * PASS_BYTES);
});
