import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repeated } from '@portcullis/core/testing/repeated.ts';
import { fuzz } from '../testing/fuzz.ts';

const DATAGRAMS = repeated(40_000);
/** The maximum CPU time of a datagram: 64 KiB may hold thousands of records. */
const SLOWEST_MS = 500;

test('random and mutated datagrams cause no exception, no stall and no growth', () => {
  const seed = Number(process.env['PORTCULLIS_FUZZ_SEED'] ?? 7);
  const { datagrams, slowestMs, objects, waitingBytes, records, malformed, wrong } = fuzz(
    DATAGRAMS,
    seed,
  );
  assert.equal(datagrams, DATAGRAMS);
  assert.ok(slowestMs < SLOWEST_MS, `one took ${slowestMs} ms`);
  assert.ok(objects <= 2 * 3000, `${objects} objects`);
  assert.ok(waitingBytes <= 2 * 131_072);
  assert.equal(wrong, null);
  // The test is effective: most datagrams passed the first length check, and some contained traffic.
  assert.ok(records > datagrams / 10, `${records} records`);
  assert.ok(malformed > datagrams / 10, `${malformed} malformed`);
});
