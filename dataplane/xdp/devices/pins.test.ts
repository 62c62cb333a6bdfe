import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { pinsFolder, pinsFolders, recordPins } from './pins.ts';

it('finds pins of an agent at another path without its start options', (t) => {
  const stateDir = mkdtempSync(join(tmpdir(), 'portcullis-pins-'));
  t.after(() => rmSync(stateDir, { recursive: true }));
  const usual = pinsFolder(stateDir, {});
  assert.deepEqual(pinsFolders(stateDir, {}), [usual]);
  const elsewhere = pinsFolder(stateDir, { PORTCULLIS_BPFFS: '/run/bpf' });
  recordPins(stateDir, elsewhere);
  assert.deepEqual(pinsFolders(stateDir, {}), [usual, elsewhere]);
});

it('empties only its own folder, for any recorded path', (t) => {
  const stateDir = mkdtempSync(join(tmpdir(), 'portcullis-pins-'));
  t.after(() => rmSync(stateDir, { recursive: true }));
  mkdirSync(join(stateDir, 'enforced'));
  writeFileSync(join(stateDir, 'enforced', 'pins'), '/sys/fs/bpf\n');
  assert.deepEqual(pinsFolders(stateDir, {}), [pinsFolder(stateDir, {})]);
});
