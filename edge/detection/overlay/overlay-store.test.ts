import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createMachineClock } from '../../switch/machine-clock.ts';
import { OVERLAY_TTL_MS, type OverlayEntry } from './overlay.ts';
import { OverlayStore } from './overlay-store.ts';

const ENTRY: OverlayEntry = {
  subject: '203.0.113.10',
  actions: [{ kind: 'reflector', reflector: 'dns' }],
  mode: 'enforce',
  safelist: ['198.51.100.0/24'],
  expiresMs: 1_000 + OVERLAY_TTL_MS,
};

function storeIn(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-overlay-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const open = (boot: string, nowMs: number) =>
    new OverlayStore(folder, { boot, nowMs: () => nowMs }, log);
  return { path: join(folder, 'overlay.json'), folder, open };
}

test('a restart keeps the remaining time to live', async (t) => {
  const { open } = storeIn(t);
  await open('a', 1_000).save([ENTRY]);
  assert.deepEqual(open('a', 400_000).load(), [ENTRY]);
});

test('after a reboot the time to live starts again', async (t) => {
  const { open } = storeIn(t);
  await open('a', 1_000).save([ENTRY]);
  assert.equal(open('b', 10).load()[0]?.expiresMs, 10 + OVERLAY_TTL_MS);
  await open('a', 1_000).save([{ ...ENTRY, expiresMs: 1e15 }]);
  assert.equal(open('a', 20).load()[0]?.expiresMs, 20 + OVERLAY_TTL_MS);
});

test('a damaged file is ignored', async (t) => {
  const { path, open } = storeIn(t);
  await open('a', 1_000).save([ENTRY]);
  const text = readFileSync(path, 'utf8');
  const damages = [
    '',
    'null',
    text.slice(0, -5),
    text.replace('203.0.113.10', 'everybody'),
    text.replace('reflector', 'pray'),
  ];
  for (const damaged of damages) {
    writeFileSync(path, damaged);
    assert.deepEqual(open('a', 1_000).load(), []);
  }
});

test('a full disk delays no mitigation', async (t) => {
  const { path, folder, open } = storeIn(t);
  rmSync(folder, { recursive: true });
  writeFileSync(folder, 'in the way');
  const store = open('a', 1_000);
  await store.save([ENTRY]);
  await store.settled();
  assert.deepEqual(store.load(), []);
  assert.ok(path.startsWith(folder));
});

test('the machine clock advances and names its boot', () => {
  const [one, other] = [createMachineClock(), createMachineClock()];
  assert.equal(one.boot, other.boot);
  const before = one.nowMs();
  assert.ok(other.nowMs() >= before);
});
