import assert from 'node:assert/strict';
import { constants } from 'node:os';
import { describe, it, type TestContext } from 'node:test';
import {
  type Descriptor,
  mapShapeOf,
  updateElement,
} from '@portcullis/dataplane/kernel/bpf/bpf.ts';
import { SystemError } from '@portcullis/dataplane/kernel/native.ts';
import { frameOf, udpPacket } from '@portcullis/dataplane/testing/frames.ts';
import { allowPort, denyAll, EARLY_SETTINGS } from '@portcullis/dataplane/testing/policies.ts';
import { compileEarly } from '@portcullis/dataplane/xdp/compile/compile.ts';
import type { EarlyDropDriver } from '@portcullis/dataplane/xdp/driver/driver.ts';
import { createKernelDriver } from '@portcullis/dataplane/xdp/driver/kernel-driver.ts';
import { MapSet, type MapSetParts } from '@portcullis/dataplane/xdp/maps/map-set.ts';
import { NO_UNIONS } from '@portcullis/dataplane/xdp/compile/unions.ts';
import { keysOf, withMapsOf } from '../kernel/bpf-maps.ts';
import { missing } from '../requirements.ts';

const SETTINGS = { ...EARLY_SETTINGS, keepReplies: false };
const CLIENT = '203.0.113.2';
const OTHER = '203.0.113.1';

const lacking = missing(['root', 'bpf']);
if (lacking !== null && process.env['PORTCULLIS_TEST_REQUIRE'] === 'all') {
  throw new Error(`these tests may not be skipped here, and cannot run: ${lacking}`);
}

/** The real kernel, with simulated lack of memory. */
describe('the early drop of a kernel without memory', { skip: lacking ?? false }, () => {
  const many = Array.from({ length: 300 }, (_, index) =>
    denyAll(`198.18.${index >> 8}.${index & 255}`),
  ).map(compileEarly);
  const held = (driver: EarlyDropDriver): number =>
    many.filter(
      ({ target }) => driver.evaluate(frameOf(udpPacket(CLIENT, target, 9)), 1) === 'drop',
    ).length;
  const refuse = (t: TestContext, atMost: number) => {
    const load = MapSet.load.bind(MapSet);
    return t.mock.method(MapSet, 'load', (parts: MapSetParts) => {
      if (parts.targets.length > atMost) throw new SystemError('bpf', constants.errno.ENOMEM);
      return load(parts);
    });
  };

  it('goes on with the maps that it has where the kernel has no memory for larger ones, and asks again', (t) => {
    const driver = createKernelDriver({ pins: '' });
    driver.load(many.slice(0, 40), SETTINGS, NO_UNIONS);
    driver.enforce();
    const refused = refuse(t, 100);
    driver.change([...many.slice(40), compileEarly(denyAll(OTHER))], []);
    const left = driver.beyondCapacity().size;
    assert.deepEqual([held(driver) + left, refused.mock.callCount()], [301, 1]);
    assert.ok(left > 0 && held(driver) > 40, `${left} left`);
    assert.deepEqual(driver.readmissible(), []);
    // One of those it holds still changes in place; nobody asks the kernel again meanwhile.
    driver.change([compileEarly(denyAll('198.18.0.0', [allowPort('udp', 9)]))], []);
    assert.deepEqual([held(driver) + left, refused.mock.callCount()], [300, 1]);
    refused.mock.restore();
    const nowMs = performance.now();
    t.mock.method(performance, 'now', () => nowMs + 61_000);
    driver.change(driver.readmissible(), []);
    assert.deepEqual([driver.beyondCapacity().size, held(driver)], [0, 299]);
    driver.close();
  });

  it('takes out an address that the kernel says a map is full for, whatever stood there of it', (t) => {
    const driver = createKernelDriver({ pins: '' });
    const ports = Array.from({ length: 20 }, (_, index) => allowPort('udp', 1_000 + 3 * index));
    driver.load([...many.slice(0, 3), compileEarly(denyAll(OTHER, ports))], SETTINGS, NO_UNIONS);
    driver.enforce();
    const refused = refuse(t, 0);
    withMapsOf(process.pid, (maps) => {
      const holding = maps.filter((map) => holdsAddress(map, OTHER));
      assert.equal(holding.length, 2);
      holding.forEach(fill);
    });
    // One in place of what it was, with more rules; and a new one.
    driver.change([compileEarly(denyAll('198.18.0.1', ports)), ...many.slice(3, 4)], []);
    assert.deepEqual([...driver.beyondCapacity().keys()].toSorted(), ['198.18.0.1', '198.18.0.3']);
    assert.deepEqual([held(driver), driver.isIntact('198.18.0.2')], [2, true]);
    refused.mock.restore();
    const nowMs = performance.now();
    t.mock.method(performance, 'now', () => nowMs + 61_000);
    driver.change(driver.readmissible(), []);
    assert.deepEqual([driver.beyondCapacity().size, held(driver)], [0, 4]);
    driver.close();
  });

  it('begins with half as many, or a quarter, where the kernel has no memory for all', (t) => {
    const driver = createKernelDriver({ pins: '' });
    const refused = refuse(t, 100);
    driver.load(many, SETTINGS, NO_UNIONS);
    driver.enforce();
    assert.deepEqual(
      [held(driver), driver.beyondCapacity().size, driver.readmissible()],
      [75, 225, []],
    );
    refused.mock.restore();
    const none = refuse(t, -1);
    assert.throws(() => driver.load(many, SETTINGS, NO_UNIONS), { code: 'ENOMEM' });
    none.mock.restore();
    driver.close();
  });
});

/** Whether the map has an element for each address. */
function holdsAddress(map: Descriptor, address: string): boolean {
  const { type, keySize, maxEntries } = mapShapeOf(map);
  const key = Buffer.from(address.split('.').map(Number));
  return (
    type === 'hash' &&
    keySize === 4 &&
    maxEntries < 1_000 &&
    keysOf(map).some((one) => one.equals(key))
  );
}

/** Fills the map with elements of unused addresses. */
function fill(map: Descriptor): void {
  const { valueSize, maxEntries } = mapShapeOf(map);
  const more = maxEntries - keysOf(map).length;
  for (let count = 0; count < more; count++) {
    updateElement(map, Buffer.from([240, 0, 0, count]), Buffer.alloc(valueSize));
  }
}
