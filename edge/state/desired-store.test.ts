import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { repeated } from '@portcullis/core/testing/repeated.ts';
import { require } from '@portcullis/lab/requirements.ts';
import type { Desired } from '@portcullis/dataplane/desired.ts';
import { stateOf } from '../testing/states.ts';
import { frame } from './frames.ts';
import { DesiredStore, type DesiredStoreOptions } from './desired-store.ts';

const log = { debug() {}, info() {}, warn() {}, error() {} };
const KILLS = repeated(3);

function folder(t: TestContext, leave: (path: string) => void = () => {}): string {
  const path = mkdtempSync(join(tmpdir(), 'portcullis-state-'));
  t.after(() => {
    leave(path);
    rmSync(path, { recursive: true, force: true });
  });
  return path;
}

function open(stateDir: string, options: Partial<DesiredStoreOptions> = {}): DesiredStore {
  return new DesiredStore({ folder: stateDir, log, ...options });
}

/** Loads without changing the folder. */
async function look(
  stateDir: string,
  hasTable = true,
): Promise<{ held: Desired | null; problem: string | null }> {
  const store = open(stateDir);
  const held = store.load(hasTable);
  const { problem } = store;
  await store.stop();
  return { held, problem };
}

/** Each as a change of the previous one, if any. */
async function keepAll(stateDir: string, generations: readonly number[]): Promise<void> {
  let store = open(stateDir);
  let held = store.load(true);
  for (const generation of generations) {
    await store.keep(stateOf(generation));
    if (held !== null) continue;
    // The first write happens in the background; stopping waits for it.
    await store.stop();
    store = open(stateDir);
    held = store.load(true);
  }
  await store.stop();
  assert.equal(store.problem, null);
}

describe('the desired state on disk', () => {
  it('is the last saved state after any number of rewrites', async (t) => {
    for (const smallestCompaction of [0, 5_000, 1_000_000]) {
      const stateDir = folder(t);
      let last = 0;
      for (const count of [1, 30, 3]) {
        const store = open(stateDir, { smallestCompaction });
        assert.deepEqual(store.load(true), last === 0 ? null : stateOf(last));
        for (let n = 0; n < count; n += 1) {
          last += 1;
          await store.keep(stateOf(last));
        }
        await store.stop();
        assert.equal(store.problem, null);
      }
      assert.deepEqual((await look(stateDir)).held, stateOf(last));
      assert.equal(readdirSync(stateDir).filter((name) => name.endsWith('.new')).length, 0);
    }
  });

  it('grows with the changes, not with the size of the state', async (t) => {
    const stateDir = folder(t);
    await keepAll(stateDir, [1]);
    const path = join(stateDir, 'policy.jsonl');
    const before = readFileSync(path).length;
    const store = open(stateDir);
    const held = store.load(true) as Desired;
    const policies = new Map(held.policies);
    const [first] = policies.values();
    assert.ok(first);
    policies.set(first.target, { ...first, rules: [] });
    await store.keep({ ...held, generation: 2, policies });
    await store.stop();
    assert.ok(readFileSync(path).length - before < 400);
  });

  it('loads a saved state or none for any truncated or corrupted files', async (t) => {
    const stateDir = folder(t);
    const generations = Array.from({ length: 12 }, (_, index) => index + 1);
    await keepAll(stateDir, generations);
    const names = readdirSync(stateDir);
    const files = names.map((name) => ({ name, bytes: readFileSync(join(stateDir, name)) }));
    const damage = fc.tuple(
      fc.constantFrom(...files),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.nat(8),
    );
    let readable = 0;
    await fc.assert(
      fc.asyncProperty(damage, async ([{ name, bytes }, where, bit]) => {
        for (const one of files) writeFileSync(join(stateDir, one.name), one.bytes);
        const at = Math.min(bytes.length - 1, Math.floor(where * bytes.length));
        const flipped = Buffer.from(bytes);
        flipped[at] = (flipped[at] ?? 0) ^ (1 << bit);
        writeFileSync(join(stateDir, name), bit === 8 ? bytes.subarray(0, at) : flipped);
        const { held, problem } = await look(stateDir);
        if (held !== null) {
          readable += 1;
          assert.deepEqual(held, stateOf(held.generation));
        }
        if (held?.generation !== 12)
          assert.ok(problem !== null || (bit === 8 && isBoundary(bytes, at)));
      }),
      { numRuns: repeated(80) },
    );
    assert.ok(readable >= 4, `${readable} were readable`);
  });

  it('continues after the readable part of damaged files', async (t) => {
    const stateDir = folder(t);
    await keepAll(stateDir, [1, 2, 3]);
    const path = join(stateDir, 'policy.jsonl');
    writeFileSync(path, readFileSync(path).subarray(0, -10));
    await keepAll(stateDir, [4, 5]);
    assert.deepEqual(await look(stateDir), { held: stateOf(5), problem: null });
  });

  it('ignores and reports files of another version', async (t) => {
    const stateDir = folder(t);
    const { text } = frame('', { kind: 'begin', format: 2, generation: 7 });
    writeFileSync(join(stateDir, 'policy.jsonl'), text);
    const { held, problem } = await look(stateDir);
    assert.equal(held, null);
    assert.match(problem ?? '', /format is 2/);
    await keepAll(stateDir, [8]);
    assert.deepEqual((await look(stateDir)).held, stateOf(8));
  });

  it('is never older than an acknowledged save, after any number of kills during writes', async (t) => {
    const stateDir = folder(t);
    const script = join(import.meta.dirname, '..', 'testing', 'store-process.ts');
    let newest = 0;
    for (let round = 0; round < KILLS; round += 1) {
      const child = spawn(process.execPath, [script, stateDir], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let output = '';
      const killAfterBytes = (20_000 + 500 * round) % 7_000;
      const enough = Promise.withResolvers<void>();
      child.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        if (output.length > killAfterBytes) enough.resolve();
      });
      const gone = once(child, 'exit');
      await Promise.race([enough.promise, gone]);
      child.kill('SIGKILL');
      await gone;
      assert.equal(child.signalCode, 'SIGKILL');
      const kept = Number(output.split('\n').at(-2));
      const { held } = await look(stateDir);
      assert.ok(held !== null && held.generation >= kept, `${held?.generation}, said ${kept}`);
      assert.ok(kept > newest);
      assert.deepEqual(held, stateOf(held.generation));
      newest = held.generation;
    }
  });

  it('reports a full disk, keeps its state, and catches up when space is available', async (t) => {
    if (!require(t, ['root'])) return;
    const stateDir = folder(t, (path) => execFileSync('umount', [path]));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=128k', 'tmpfs', stateDir]);
    await keepAll(stateDir, [1, 2]);
    const ballast = join(stateDir, 'ballast');
    assert.throws(() => writeFileSync(ballast, Buffer.alloc(256 * 1024)), /ENOSPC/);
    const store = open(stateDir, { retryMs: 10 });
    store.load(true);
    let generation = 2;
    while (store.problem === null && generation < 100) await store.keep(stateOf((generation += 1)));
    assert.match(store.problem ?? '', /no space left/i);
    // The kernel is ahead of it: usable after a reboot only.
    assert.deepEqual(await look(stateDir), { held: null, problem: null });
    const { held, problem } = await look(stateDir, false);
    assert.ok(held !== null && held.generation < generation);
    assert.deepEqual(held, stateOf(held.generation));
    assert.match(problem ?? '', /ends at generation/);
    rmSync(ballast);
    for (let tries = 0; store.problem !== null && tries < 6_000; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.equal(store.problem, null);
    await store.stop();
    assert.deepEqual((await look(stateDir)).held, stateOf(generation));
    assert.ok(!readdirSync(stateDir).includes('policy.stale.jsonl'));
  });
});

function isBoundary(bytes: Buffer, at: number): boolean {
  return at === 0 || bytes[at - 1] === 10;
}
