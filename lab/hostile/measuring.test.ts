import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { DiskGuard } from '@portcullis/node/disk/disk-guard.ts';
import { entryLimit, farEntries } from '@portcullis/node/disk/disk-limit.ts';
import { createMeasureDisk, type DiskUse } from '@portcullis/node/disk/measure.ts';
import { TestHost, until } from '@portcullis/node/testing/host.ts';

/** Files that have no bytes: an attacker has many more, and a node measures as many more in a second. */
const FILES = 1_500;
const ENTRIES_PER_SECOND = 1_500;
const MIB = 1024 * 1024;
const never = new AbortController().signal;

test('files without bytes and links to one file cost what a file costs at least', async (t) => {
  const folder = folderOf(t);
  writeFileSync(join(folder, 'one'), '');
  for (let name = 0; name < 1_000; name++) linkSync(join(folder, 'one'), join(folder, `${name}`));
  const use = await createMeasureDisk()(folder, never);
  assert.deepEqual([use.entries, use.complete], [1_002, true]);
  assert.ok(use.bytes >= 1_001 * 4096);
});

test('the walk of a server past its limit of entries ends there', async (t) => {
  const folder = folderOf(t);
  fill(folder, 400);
  const guarded = { uuid: 'a', folder, limitMib: 1, writes: 'game' } as const;
  const orders: (number | undefined)[] = [];
  const measure = createMeasureDisk();
  const guard = new DiskGuard({
    measure: async (path, signal, order) => {
      orders.push(order?.maxEntries);
      return measure(path, signal, { ...order, maxEntries: 100 });
    },
    servers: () => [guarded],
    onMeasured: (_, { entries }) => assert.ok(entries < 200, `${entries} entries`),
    act: () => {},
    onError: () => {},
  });
  assert.match((await guard.measure(guarded)) ?? '', /cannot be measured|on the disk/);
  assert.deepEqual(orders, [farEntries(1)]);
  assert.ok(farEntries(1) < 2 * entryLimit(1) + 16_384);
});

test('a server of empty files is past its disk limit, and delays no start or round of another', async (t) => {
  const [large, starts, other] = [folderOf(t), folderOf(t), folderOf(t)];
  fill(large, FILES);
  fill(starts, 10);
  fill(other, 10);
  const server = (uuid: string, folder: string) =>
    ({ uuid, folder, limitMib: 4, writes: 'game' }) as const;
  const measured = new Map<string, DiskUse>();
  const stopped: string[] = [];
  const guard = new DiskGuard({
    measure: createMeasureDisk({ entriesPerSecond: ENTRIES_PER_SECOND }),
    servers: () => [server('large', large), server('other', other)],
    onMeasured: (uuid, use) => measured.set(uuid, use),
    act: (uuid, action, reason) => stopped.push(`${action} ${uuid}: ${reason}`),
    onError: (_, error) => assert.fail(String(error)),
    pauseMs: 600_000,
  });
  t.after(() => guard.stop());
  guard.start();
  await until(async () => isOpen(large));
  assert.equal(await guard.measure(server('starts', starts)), null);
  assert.ok(!measured.has('large'));
  await until(async () => stopped.length > 0);
  assert.deepEqual([...measured.keys()].toSorted(), ['large', 'other', 'starts']);
  assert.equal([...measured.keys()].at(-1), 'large');
  assert.ok((measured.get('large')?.bytes ?? 0) >= FILES * 4096);
  assert.match(
    stopped.join(),
    /^stop large: It has \d+ MiB .* Each of its 1501 files and folders counts/,
  );
});

test('as many starts as there are slots for, of folders that take long, delay no start of another server', async (t) => {
  const large = new Set<string>();
  const measured = Promise.withResolvers<DiskUse>();
  const nothing = { bytes: 0, entries: 1, complete: true };
  const host = new TestHost(t, {
    measure: async (folder) => (large.has(folder) ? measured.promise : nothing),
  });
  const uuids = await host.servers(5);
  const [small = '', ...others] = uuids;
  for (const uuid of others) large.add(join(host.stateDir, 'servers', uuid));
  for (const uuid of others) await host.power(uuid, 'start');
  await host.power(small, 'start');
  await host.started(small, 1);
  for (const uuid of others) assert.equal(host.count('start', uuid), 0);
  measured.resolve(nothing);
  for (const uuid of others) await host.started(uuid, 1);
});

test('a game that deletes what is being read does not prevent its measurement', async (t) => {
  const folder = folderOf(t);
  const doomed = join(folder, 'doomed');
  mkdirSync(doomed);
  // More than one call of the kernel returns.
  for (let file = 0; file < 600; file++) {
    writeFileSync(join(doomed, `${file}`.padEnd(200, 'x')), '');
  }
  mkdirSync(join(folder, 'kept'));
  writeFileSync(join(folder, 'kept', 'file'), Buffer.alloc(3 * MIB, 'x'));
  const measured = createMeasureDisk({ entriesPerSecond: 600 })(folder, never);
  await until(async () => isOpen(doomed));
  rmSync(doomed, { recursive: true });
  const use = await measured;
  assert.equal(use.complete, true);
  assert.ok(use.bytes > 3 * MIB, `${use.bytes} bytes`);
});

test('a file below a path that no call takes whole is measured', async (t) => {
  const folder = folderOf(t);
  const levels: number[] = [openFolder(folder)];
  for (let depth = 0; depth < 60; depth++) {
    const path = `/proc/self/fd/${levels.at(-1)}/${'d'.repeat(200)}`;
    mkdirSync(path);
    levels.push(openFolder(path));
  }
  writeFileSync(`/proc/self/fd/${levels.at(-1)}/hidden`, Buffer.alloc(3 * MIB, 'x'));
  for (const level of levels) closeSync(level);
  const uses = await Promise.all(
    Array.from({ length: 10 }, () => createMeasureDisk()(folder, never)),
  );
  for (const { bytes, complete } of uses) assert.ok(complete && bytes > 3 * MIB);
});

function openFolder(path: string): number {
  return openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
}

/** Whether this process has the folder open. */
function isOpen(folder: string): boolean {
  return readdirSync('/proc/self/fd').some((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === folder;
    } catch {
      return false;
    }
  });
}

function fill(folder: string, files: number): void {
  for (let name = 0; name < files; name++) closeSync(openSync(join(folder, `${name}`), 'w'));
}

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-measuring-'));
  // By rm, which removes paths of any length.
  t.after(() => execFileSync('rm', ['-rf', folder]));
  return folder;
}
