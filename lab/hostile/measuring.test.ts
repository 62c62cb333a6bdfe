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
import { EGG } from '@portcullis/node/testing/eggs.ts';
import { TestHost, until } from '@portcullis/node/testing/host.ts';

/** Many files that have no bytes: what an attacker with a small disk limit makes. */
const FILES = 34_000;
const MIB = 1024 * 1024;
const never = new AbortController().signal;

test('files without bytes and links to one file cost what a file costs at least', async (t) => {
  const folder = folderOf(t);
  writeFileSync(join(folder, 'one'), '');
  for (let name = 0; name < 3_000; name++) linkSync(join(folder, 'one'), join(folder, `${name}`));
  const use = await createMeasureDisk()(folder, never);
  assert.deepEqual([use.entries, use.complete], [3_002, true]);
  assert.ok(use.bytes >= 3_001 * 4096);
});

test('the walk of a server past its limit of entries ends there', async (t) => {
  const folder = folderOf(t);
  fill(folder, 5_000);
  const guarded = { uuid: 'a', folder, limitMib: 1, writes: 'game' } as const;
  const orders: (number | undefined)[] = [];
  const measure = createMeasureDisk();
  const guard = new DiskGuard({
    measure: async (path, signal, order) => {
      orders.push(order?.maxEntries);
      return measure(path, signal, { ...order, maxEntries: 1_000 });
    },
    servers: () => [guarded],
    onMeasured: (_, { entries }) => assert.ok(entries < 1_100, `${entries} entries`),
    act: () => {},
    onError: () => {},
  });
  assert.match((await guard.measure(guarded)) ?? '', /cannot be measured|on the disk/);
  assert.deepEqual(orders, [farEntries(1)]);
  assert.ok(farEntries(1) < 2 * entryLimit(1) + 16_384);
});

test('a server of empty files is past its limit of entries, and delays no start or round of another', async (t) => {
  const [large, starts, other] = [folderOf(t), folderOf(t), folderOf(t)];
  fill(large, FILES);
  fill(starts, 100);
  fill(other, 100);
  const server = (uuid: string, folder: string) =>
    ({ uuid, folder, limitMib: 512, writes: 'game' }) as const;
  const measured = new Map<string, DiskUse>();
  const stopped: string[] = [];
  const guard = new DiskGuard({
    measure: createMeasureDisk(),
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
  assert.match(stopped.join(), /^stop large: It has more than 32768 files and folders/);
});

test('as many starts as there are slots for, of many files each, delay no start of another server', async (t) => {
  const host = new TestHost(t);
  const limits = { memory: 512, cpu: 100, disk: 1024 };
  const uuids = await host.servers(5, EGG, { limits });
  const [small = '', ...large] = uuids.toReversed();
  for (const uuid of large) fill(join(host.stateDir, 'servers', uuid), 5_000);
  for (const uuid of large) await host.power(uuid, 'start');
  await host.power(small, 'start');
  for (const uuid of uuids) await host.started(uuid, 1);
  const first = host.engine.calls.find(({ operation }) => operation === 'start');
  assert.equal(first?.uuid, small);
});

test('a game that deletes what is being read does not prevent its measurement', async (t) => {
  const folder = folderOf(t);
  const doomed = join(folder, 'doomed');
  mkdirSync(doomed);
  // More than one call of the kernel returns.
  for (let file = 0; file < 2_000; file++) {
    writeFileSync(join(doomed, `${file}`.padEnd(200, 'x')), '');
  }
  mkdirSync(join(folder, 'kept'));
  writeFileSync(join(folder, 'kept', 'file'), Buffer.alloc(3 * MIB, 'x'));
  const measured = createMeasureDisk({ entriesPerSecond: 2_000 })(folder, never);
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
