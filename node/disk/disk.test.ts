import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { Worker } from 'node:worker_threads';
import { DiskGuard, type GuardedServer } from './disk-guard.ts';
import { createMeasureDisk, type DiskUse } from './measure.ts';
import { diskRefusal, entryLimit, farEntries, isFarOver, stepDisk } from './disk-limit.ts';

const MIB = 1024 * 1024;
const never = new AbortController().signal;

describe('the disk use of a folder', () => {
  it('is the blocks of each file once, 4 KiB an entry at least, links not followed, also odd names', async (t) => {
    const folder = join(folderOf(t), 'server');
    for (const path of ['', 'a', 'a/b', 'empty']) mkdirSync(join(folder, path));
    writeFileSync(join(folder, 'a/file'), Buffer.alloc(3 * MIB + 5));
    writeFileSync(join(folder, 'a/b/small'), 'x');
    linkSync(join(folder, 'a/file'), join(folder, 'a/again'));
    writeFileSync(join(folder, 'sparse'), '');
    truncateSync(join(folder, 'sparse'), 1024 * MIB);
    symlinkSync('/usr', join(folder, 'link'));
    symlinkSync('/usr/bin/env', join(folder, 'link-to-file'));
    const odd = Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff, 0xfe, 0x61])]);
    writeFileSync(odd, Buffer.alloc(2 * MIB));
    const use = await createMeasureDisk()(folder, never);
    assert.equal(use.bytes, countedIn(folder));
    assert.ok(use.bytes > 5 * MIB && use.bytes < 6 * MIB);
    assert.deepEqual([use.entries, use.complete], [11, true]);
  });

  it('is marked as incomplete above the limit of entries', async (t) => {
    const folder = folderOf(t);
    let path = folder;
    for (let depth = 0; depth < 20; depth += 1) mkdirSync((path = join(path, 'd')));
    writeFileSync(join(path, 'hidden'), Buffer.alloc(MIB));
    assert.equal((await createMeasureDisk({ maxDepth: 10 })(folder, never)).complete, false);
    assert.equal((await createMeasureDisk({ maxEntries: 5 })(folder, never)).complete, false);
    const whole = await createMeasureDisk({ maxDepth: 21 })(folder, never);
    assert.deepEqual([whole.complete, whole.bytes], [true, countedIn(folder)]);
    const two = await createMeasureDisk()(folder, never, { maxEntries: 2 });
    assert.deepEqual([two.complete, two.entries], [false, 2]);
  });

  it('is zero without a folder, and unknown if the path is no folder', async (t) => {
    const folder = folderOf(t);
    const nothing = { bytes: 0, entries: 0, complete: true };
    assert.deepEqual(await createMeasureDisk()(join(folder, 'gone'), never), nothing);
    writeFileSync(join(folder, 'file'), '');
    await assert.rejects(createMeasureDisk()(join(folder, 'file'), never));
  });

  it('is measured at the configured rate for any number of callers, and stops on abort', async (t) => {
    const folder = folderOf(t);
    for (let count = 0; count < 300; count += 1) writeFileSync(join(folder, String(count)), '');
    const measure = createMeasureDisk({ entriesPerSecond: 1000 });
    const begin = performance.now();
    const uses = await Promise.all([measure(folder, never), measure(folder, never)]);
    assert.ok(performance.now() - begin > 350);
    assert.deepEqual(uses[0], uses[1]);
    await assert.rejects(measure(folder, AbortSignal.timeout(50)), { name: 'TimeoutError' });
    assert.deepEqual(await measure(folder, never), uses[0]);
  });

  it('is never measured outside the folder while its directories are replaced by links', async (t) => {
    const root = folderOf(t);
    const [folder, outside] = [join(root, 'server'), join(root, 'outside')];
    mkdirSync(join(folder, 'conf'), { recursive: true });
    mkdirSync(outside);
    writeFileSync(join(outside, 'secret.cfg'), Buffer.alloc(8 * MIB));
    const swapper = new Worker(new URL('../server-folder/testing/swap-links.ts', import.meta.url), {
      workerData: { folder, outside },
    });
    try {
      await once(swapper, 'online');
      const measure = createMeasureDisk({ entriesPerSecond: 1_000_000 });
      const untilMs = performance.now() + 3000;
      while (performance.now() < untilMs) {
        assert.ok((await measure(folder, never)).bytes < MIB);
      }
    } finally {
      // Before the folder is removed: files created meanwhile would keep it.
      await swapper.terminate();
    }
  });
});

describe('the limit of a disk', () => {
  it('is reported in words, whether or not the use can be measured', () => {
    assert.equal(diskRefusal(used(10), 10), null);
    assert.equal(diskRefusal(used(5000), 0), null);
    assert.equal(
      diskRefusal({ ...used(10), bytes: 10 * MIB + 1 }, 10),
      'It has 11 MiB on the disk and may have 10 MiB.',
    );
    assert.match(diskRefusal({ ...used(1), complete: false }, 10) ?? '', /cannot be measured/);
    const many = { bytes: 20 * MIB, entries: 5_000, complete: true };
    assert.match(diskRefusal(many, 10) ?? '', /Each of its 5000 files and folders counts .* 4 KiB/);
    assert.match(
      diskRefusal({ ...used(1), entries: entryLimit(10) + 1, complete: false }, 10) ?? '',
      /^It has more than 32768 files and folders, .* the most that 10 MiB of disk allow/,
    );
  });

  it('has entries by its size, at least what small games have, and at most what can be measured', () => {
    const limits = [1, 512, 1024, 100 * 1024, 10_000_000].map((mib) => entryLimit(mib));
    assert.deepEqual(limits, [32_768, 32_768, 65_536, 5_000_000, 5_000_000]);
    assert.equal(entryLimit(0), Infinity);
    const none = { ...used(0), entries: 100_000_000 };
    assert.deepEqual([diskRefusal(none, 0), isFarOver(none, 0)], [null, false]);
    assert.equal(isFarOver({ bytes: 0, entries: farEntries(10) - 1 }, 10), false);
    assert.equal(isFarOver({ bytes: 0, entries: farEntries(10) }, 10), true);
  });

  it('stops a server above it once, kills it after the timeout, and resets when it is below', () => {
    const at = (nowMs: number, over = true, running = true) => ({
      nowMs,
      over,
      farOver: false,
      running,
      killAfterMs: 60,
    });
    assert.deepEqual(stepDisk(null, at(5)), { overSince: 5, action: 'stop' });
    assert.deepEqual(stepDisk(5, at(64)), { overSince: 5, action: 'none' });
    assert.deepEqual(stepDisk(5, at(65)), { overSince: 5, action: 'kill' });
    const far = { ...at(6), farOver: true };
    assert.deepEqual(stepDisk(null, far), { overSince: 6, action: 'kill' });
    assert.deepEqual(stepDisk(5, { ...far, running: false }), { overSince: null, action: 'none' });
    assert.deepEqual(
      [used(11), used(89), used(77), used(9000)].map((use, index) =>
        isFarOver(use, index < 3 ? 10 : 0),
      ),
      [false, true, true, false],
    );
    for (const calm of [at(99, false), at(99, true, false)]) {
      assert.deepEqual(stepDisk(5, calm), { overSince: null, action: 'none' });
    }
  });

  it('is enforced by the guard: stop, then kill, no start above it, other servers unaffected', async (t) => {
    const uses = new Map([
      ['full', used(20)],
      ['fine', used(1)],
      ['off', used(20)],
      ['unpacks', used(20)],
    ]);
    const servers = [
      server('full'),
      server('fine'),
      { ...server('off'), writes: 'nothing' } as const,
      { ...server('unpacks'), writes: 'install' } as const,
      server('gone'),
    ];
    const acts: string[] = [];
    const errors: string[] = [];
    let killed: () => void = () => undefined;
    const done = new Promise<void>((resolve) => (killed = resolve));
    const guard = new DiskGuard({
      measure: (folder) => {
        const use = uses.get(folder);
        return use === undefined ? Promise.reject(new Error('gone')) : Promise.resolve(use);
      },
      servers: () => servers,
      onMeasured: () => undefined,
      act: (uuid, action) => {
        acts.push(`${action} ${uuid}`);
        if (action === 'kill') killed();
      },
      onError: (uuid) => errors.push(uuid),
      pauseMs: 600_000,
      killAfterMs: 50,
    });
    t.after(() => guard.stop());
    guard.start();
    await done;
    assert.deepEqual(acts, ['stop full', 'kill full']);
    assert.deepEqual(errors, ['gone']);
    assert.match((await guard.measure(server('off'))) ?? '', /may have 10 MiB/);
    assert.equal(await guard.measure(server('fine')), null);
  });
});

describe('a folder that takes long to measure', () => {
  it('is measured once at a time, and holds back no round of other servers', async (t) => {
    const slow = Promise.withResolvers<DiskUse>();
    const counts = { slow: 0, fine: 0 };
    const often = Promise.withResolvers<void>();
    const guard = new DiskGuard({
      measure: async (folder) => {
        counts[folder as 'slow' | 'fine'] += 1;
        if (counts.fine > 3) often.resolve();
        return folder === 'slow' ? slow.promise : used(1);
      },
      servers: () => [server('slow'), server('fine')],
      onMeasured: () => undefined,
      act: () => assert.fail('nothing is over'),
      onError: () => undefined,
      pauseMs: 20,
    });
    t.after(() => guard.stop());
    guard.start();
    await often.promise;
    assert.equal(counts.slow, 1);
    slow.resolve(used(1));
  });
});

describe('a disk that fills fast', () => {
  it('is measured again long before the next round', async (t) => {
    let free = 1000 * MIB;
    let rounds = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    const guard = new DiskGuard({
      measure: async () => {
        rounds += 1;
        if (rounds === 2) resolve();
        // Enough time for the round after the first, and too little for one after the second.
        free -= rounds === 1 ? 300 * MIB : 100 * MIB;
        return used(1);
      },
      servers: () => [server('fine')],
      onMeasured: () => undefined,
      act: () => assert.fail('nothing is over'),
      onError: () => undefined,
      pauseMs: 600_000,
      freeBytes: async () => free,
    });
    t.after(() => guard.stop());
    guard.start();
    await promise;
    await new Promise((soon) => setTimeout(soon, 1500));
    assert.equal(rounds, 2);
  });
});

function used(mib: number): DiskUse {
  return { bytes: mib * MIB, entries: 1, complete: true };
}

function server(uuid: string): GuardedServer {
  return { uuid, folder: uuid, limitMib: 10, writes: 'game' };
}

/** Counts by `find`: the blocks of each inode once, and 4 KiB an entry at least. */
function countedIn(folder: string): number {
  const seen = new Set<string>();
  const lines = execFileSync('find', [folder, '-printf', String.raw`%i %b\n`], {
    encoding: 'utf8',
  });
  return lines
    .trim()
    .split('\n')
    .reduce((sum, line) => {
      const [inode = '', blocks = ''] = line.split(' ');
      const bytes = seen.has(inode) ? 0 : Number(blocks) * 512;
      seen.add(inode);
      return sum + Math.max(bytes, 4096);
    }, 0);
}

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-disk-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
