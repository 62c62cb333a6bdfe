import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { pinsFolder, pinsFolders, recordPins } from './pins.ts';

it('finds what an agent pinned elsewhere, also without knowing how the agent was started', (t) => {
  const stateDir = mkdtempSync(join(tmpdir(), 'portcullis-pins-'));
  t.after(() => rmSync(stateDir, { recursive: true }));
  const usual = pinsFolder(stateDir, {});
  assert.deepEqual(pinsFolders(stateDir, {}), [usual]);
  const elsewhere = pinsFolder(stateDir, { PORTCULLIS_BPFFS: '/run/bpf' });
  recordPins(stateDir, elsewhere);
  assert.deepEqual(pinsFolders(stateDir, {}), [usual, elsewhere]);
});

it('empties no folder but one of ours, whatever is recorded', (t) => {
  const stateDir = mkdtempSync(join(tmpdir(), 'portcullis-pins-'));
  t.after(() => rmSync(stateDir, { recursive: true }));
  mkdirSync(join(stateDir, 'enforced'));
  writeFileSync(join(stateDir, 'enforced', 'pins'), '/sys/fs/bpf\n');
  assert.deepEqual(pinsFolders(stateDir, {}), [pinsFolder(stateDir, {})]);
});
