import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repeated } from '@portcullis/core/testing/repeated.ts';
import { fuzz } from '../testing/fuzz.ts';

const DATAGRAMS = repeated(40_000);
/** A datagram of 64 KiB may hold thousands of records; none may take longer than this of a processor's time. */
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
  // Otherwise nothing was tried: most got past the first length check, and some told of traffic.
  assert.ok(records > datagrams / 10, `${records} records`);
  assert.ok(malformed > datagrams / 10, `${malformed} malformed`);
});
