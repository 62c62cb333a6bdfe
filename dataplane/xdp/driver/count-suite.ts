import assert from 'node:assert/strict';
import { it } from 'node:test';
import { frameOf, udpPacket } from '../../testing/frames.ts';
import { denyAll, EARLY_SETTINGS } from '../../testing/policies.ts';
import { compileEarly } from '../compile/compile.ts';
import type { EarlyDropDriver } from './driver.ts';
import { NO_UNIONS } from '../compile/unions.ts';

const DEVICE = 1;
const CLIENT = '192.0.2.9';
const [FIRST, SECOND, THIRD] = ['203.0.113.10', '203.0.113.11', '203.0.113.12'] as const;

/** The guarantees of every driver about drop counts. `fresh` returns an empty one. */
export function countSuite(fresh: () => EarlyDropDriver): void {
  it('reports every drop once, also of targets removed or reloaded before the read', () => {
    const driver = fresh();
    const load = (...addresses: readonly string[]): void =>
      driver.load(addresses.map(closed), EARLY_SETTINGS, NO_UNIONS);
    const drop = (address: string): void =>
      assert.equal(driver.evaluate(frameOf(udpPacket(CLIENT, address, 9)), DEVICE), 'drop');
    load(FIRST, SECOND);
    driver.enforce();
    for (const address of [FIRST, SECOND, FIRST]) drop(address);
    assert.deepEqual(reported(driver), { [FIRST]: 2, [SECOND]: 1 });
    assert.deepEqual(reported(driver), {});
    drop(FIRST);
    driver.change([], [FIRST]);
    // It gets the slot of the removed one.
    driver.change([closed(THIRD)], []);
    for (const address of [THIRD, SECOND, THIRD]) drop(address);
    assert.deepEqual(reported(driver), { [FIRST]: 1, [SECOND]: 1, [THIRD]: 2 });
    drop(SECOND);
    load(SECOND);
    drop(SECOND);
    driver.enforce();
    drop(SECOND);
    assert.deepEqual(reported(driver), { [SECOND]: 3 });
    assert.deepEqual(reported(driver), {});
  });
}

function closed(address: string) {
  return compileEarly(denyAll(address, []));
}

function reported(driver: EarlyDropDriver): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { target, packets } of driver.counts()) sums[target] = (sums[target] ?? 0) + packets;
  return sums;
}
