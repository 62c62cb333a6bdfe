import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { attached, desired, flowTo, setUp, WAN } from '../testing/early-drop.ts';
import { allowPort, denyAll } from '../testing/policies.ts';
import type { EarlyDrop } from './early-drop.ts';

const [A, B, C] = ['203.0.113.10', '203.0.113.11', '203.0.113.12'] as const;

/** C comes last and exceeds the capacity of two. */
async function fill(early: EarlyDrop): Promise<void> {
  await early.apply(desired([denyAll(A), denyAll(B)]), []);
  await early.apply(desired([denyAll(A), denyAll(B), denyAll(C)]), []);
}

describe('an early drop at capacity', () => {
  it('stays on, reports the number left to nftables, and updates the addresses it holds', async () => {
    const { early, driver, passes } = setUp({ room: 2 });
    await fill(early);
    assert.deepEqual(
      [A, B, C].map((to) => passes(to, 9)),
      [false, false, true],
    );
    assert.match(early.problems().join(), /^1 targets exceed the capacity/);
    assert.deepEqual([driver.devices(), early.needsApply(), early.repair()], [[WAN], false, null]);
    await early.apply(desired([denyAll(A, [allowPort('udp', 9)]), denyAll(B), denyAll(C)]), []);
    assert.deepEqual([passes(A, 9), passes(A, 8), driver.loads], [true, false, 1]);
  });

  it('adds addresses in the same apply that frees capacity', async () => {
    const { early, passes } = setUp({ room: 2 });
    await fill(early);
    assert.equal(passes(C, 9), true);
    await early.apply(desired([denyAll(B), denyAll(C)]), []);
    assert.deepEqual([passes(B, 9), passes(C, 9), early.problems()], [false, false, []]);
  });

  it('learns the flows of an added address before it drops', async () => {
    let reads = 0;
    const { early, passes } = setUp({
      room: 2,
      openFlows: async (take) => {
        reads++;
        // It was opened while only nftables evaluated the address.
        if (reads > 2) take(flowTo(C, 4_000));
        return true;
      },
    });
    await fill(early);
    assert.equal(reads, 2);
    await early.apply(desired([denyAll(B), denyAll(C)]), []);
    assert.deepEqual([passes(C, 4_000), passes(C, 4_001)], [true, false]);
  });

  it('drops no reply to an added address before its flows are known', async () => {
    const reading = Promise.withResolvers<boolean>();
    let reads = 0;
    const { early, driver, passes } = setUp({
      room: 2,
      openFlows: () => (reads++ < 2 ? Promise.resolve(true) : reading.promise),
    });
    await fill(early);
    const applying = early.apply(desired([denyAll(B), denyAll(C)]), []);
    await attached(driver);
    while (driver.beyondCapacity().size > 0) await new Promise(setImmediate);
    assert.equal(passes(C, 9), true);
    reading.resolve(true);
    await applying;
    assert.equal(passes(C, 9), false);
  });

  it('reads and loads nothing while nothing changes', async () => {
    let reads = 0;
    const openFlows = async () => {
      reads++;
      return true;
    };
    const { early, driver } = setUp({ room: 1, openFlows });
    const wanted = desired([denyAll(A), denyAll(B)]);
    for (let times = 0; times < 3; times++) await early.apply(wanted, []);
    assert.deepEqual([reads, driver.loads, early.needsApply()], [1, 1, false]);
  });
});
