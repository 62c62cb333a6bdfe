import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GrowingGrant, Quota } from './quota.ts';

const NONE = { bytes: 0, entries: 0 };

function quotaOf(limitEntries: number): Quota {
  return new Quota({
    limitMib: () => 0,
    limitEntries: () => limitEntries,
    measure: async () => undefined,
  });
}

test('counts what is granted and what was used once, until a measurement has seen it', async () => {
  const quota = quotaOf(10);
  quota.measured({ bytes: 0, entries: 4, complete: true }, 0);
  const first = await quota.take({ bytes: 1, entries: 4 });
  await assert.rejects(quota.take({ bytes: 1, entries: 3 }), /may have 10 files/);
  // Half of it was not used.
  first.close({ bytes: 1, entries: 2 });
  const second = await quota.take({ bytes: 1, entries: 4 });
  second.close(NONE);
  second.close(NONE);
  // It has the two that were used.
  quota.measured({ bytes: 0, entries: 6, complete: true }, performance.now() + 1);
  const third = await quota.take({ bytes: 1, entries: 4 });
  await assert.rejects(quota.take({ bytes: 1, entries: 1 }), /may have 10 files/);
  // One that runs is counted on, because the measurement may not have seen it.
  quota.measured({ bytes: 0, entries: 6, complete: true }, performance.now() + 1);
  await assert.rejects(quota.take({ bytes: 1, entries: 1 }), /may have 10 files/);
  third.close(NONE);
  await quota.take({ bytes: 1, entries: 4 });
});

test('counts the folders of the bin, and lets no more be made far above the limit than one at a time', async () => {
  let measured = 0;
  const quota = new Quota({
    limitMib: () => 0,
    limitEntries: () => 10,
    measure: async () => void (measured += 1),
  });
  quota.measured({ bytes: 0, entries: 4, complete: true }, 0);
  await quota.takeForBin(7);
  await assert.rejects(quota.take({ bytes: 0, entries: 1 }), /may have 10 files/);
  // A person deletes many files, each in a folder of its own depth.
  for (let count = 0; count < 256; count += 1) await quota.takeForBin(64);
  measured = 0;
  for (let count = 0; count < 100; count += 1)
    await assert.rejects(quota.takeForBin(64), /empty the bin/);
  assert.ok(measured < 10, `${measured} measurements`);
  await quota.takeForBin(1);
});

test('measures for many refused writes at once as for one, and for each after it came', async () => {
  const walks: PromiseWithResolvers<void>[] = [];
  const quota = new Quota({
    limitMib: () => 0,
    limitEntries: () => 10,
    measure: () => {
      const walk = Promise.withResolvers<void>();
      walks.push(walk);
      return walk.promise;
    },
  });
  const end = (entries: number): void => {
    quota.measured({ bytes: 0, entries, complete: true }, performance.now());
    walks.at(-1)?.resolve();
  };
  const refused = () => assert.rejects(quota.take({ bytes: 1, entries: 1 }), /may have 10 files/);
  const early = Array.from({ length: 100 }, refused);
  await new Promise(setImmediate);
  const late = Array.from({ length: 100 }, refused);
  await new Promise(setImmediate);
  assert.equal(walks.length, 1);
  end(10);
  await Promise.all(early);
  // One for all that came during the first.
  await new Promise(setImmediate);
  assert.equal(walks.length, 2);
  end(10);
  await Promise.all(late);
});

test('takes as long for the last of many files as for the first', { timeout: 60_000 }, async () => {
  const quota = quotaOf(1_000_000);
  quota.measured({ bytes: 0, entries: 0, complete: true }, performance.now());
  // A second of work; sums that are made anew each time take some minutes.
  for (let count = 0; count < 200_000; count += 1)
    (await quota.take({ bytes: 1, entries: 1 })).close({ bytes: 1, entries: 1 });
});

test('keeps no grant of a file that was given up while the disk was measured', async () => {
  const measured = Promise.withResolvers<void>();
  const quota = new Quota({
    limitMib: () => 0,
    limitEntries: () => 10,
    measure: () => measured.promise,
  });
  const grant = new GrowingGrant(quota);
  const taken = grant.take({ bytes: 1, entries: 6 });
  grant.close(NONE);
  quota.measured({ bytes: 0, entries: 4, complete: true }, performance.now());
  measured.resolve();
  await taken;
  await quota.take({ bytes: 1, entries: 6 });
});
