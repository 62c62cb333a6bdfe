import assert from 'node:assert/strict';
import { it } from 'node:test';
import { decide } from '@portcullis/core/firewall/decide/decide.ts';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { createPolicyTable } from '@portcullis/core/firewall/policy-table.ts';
import fc from 'fast-check';
import { frameOf, udpPacket } from '../../testing/frames.ts';
import { allowPort, denyAll, EARLY_SETTINGS } from '../../testing/policies.ts';
import { compileEarly } from '../compile/compile.ts';
import type { EarlyDropDriver, EarlySettings } from './driver.ts';
import { NO_UNIONS } from '../compile/unions.ts';

const DEVICE = 1;
const CLIENT = '192.0.2.9';
const [A, B, C] = ['203.0.113.10', '203.0.113.11', '203.0.113.12'] as const;
const AROUND = '203.0.113.0/24';
const WIDER = '203.0.0.0/16';
const ELSEWHERE = '198.51.100.0/24';
const PORTS = [1, 2] as const;
/** More rules than fit in a value, so they need lookups. */
const LONG = Array.from({ length: 200 }, (_, index) => allowPort('udp', 1_000 + 3 * index));
const SETTINGS: EarlySettings = { ...EARLY_SETTINGS, keepReplies: false };

/** The guarantees of every driver at capacity. `fresh` returns an empty one. */
export function capacitySuite(fresh: (room: number) => EarlyDropDriver, numRuns: number): void {
  const loaded = (room: number, policies: readonly Policy[]): EarlyDropDriver => {
    const driver = fresh(room);
    driver.load(policies.map(compileEarly), SETTINGS, NO_UNIONS);
    driver.enforce();
    return driver;
  };
  const drops = (driver: EarlyDropDriver, to: string, port = 9): boolean =>
    driver.evaluate(frameOf(udpPacket(CLIENT, to, port)), DEVICE) === 'drop';
  const change = (driver: EarlyDropDriver, set: readonly Policy[], gone: readonly string[] = []) =>
    driver.change(set.map(compileEarly), gone);
  const names = (targets: Iterable<{ readonly target: string }>): string[] =>
    [...targets].map(({ target }) => target).toSorted();
  const left = (driver: EarlyDropDriver): string[] => names(driver.beyondCapacity().values());

  it('keeps its addresses, leaves new ones to nftables, and adds one when another is removed', () => {
    const driver = loaded(2, [denyAll(A), denyAll(B)]);
    change(driver, [denyAll(C)]);
    assert.deepEqual(
      [A, B, C].map((to) => drops(driver, to)),
      [true, true, false],
    );
    assert.deepEqual([left(driver), driver.readmissible()], [[C], []]);
    change(driver, [denyAll(A, [allowPort('udp', 9)])]);
    assert.deepEqual([drops(driver, A, 9), drops(driver, A, 8)], [false, true]);
    change(driver, [], [A]);
    assert.deepEqual([drops(driver, C), names(driver.readmissible())], [false, [C]]);
    driver.change(driver.readmissible(), []);
    assert.deepEqual(
      [A, B, C].map((to) => drops(driver, to)),
      [false, true, true],
    );
    assert.deepEqual([left(driver), driver.readmissible()], [[], []]);
  });

  it('never applies the old rules of an address if its new ones exceed the capacity', () => {
    const driver = loaded(100, [denyAll(A), denyAll(B)]);
    change(driver, [denyAll(A, LONG)]);
    assert.deepEqual(
      [drops(driver, A, 1_000), drops(driver, A), drops(driver, B)],
      [false, false, true],
    );
    assert.deepEqual([left(driver), driver.readmissible()], [[A], []]);
    change(driver, [denyAll(A, LONG.slice(0, 3))]);
    assert.deepEqual([drops(driver, A, 1_000), drops(driver, A), left(driver)], [false, true, []]);
  });

  it('never applies a prefix policy to an address beyond the capacity', () => {
    const driver = loaded(100, [denyAll(AROUND), denyAll(WIDER), denyAll(ELSEWHERE), denyAll(B)]);
    change(driver, [denyAll(A, LONG)]);
    assert.deepEqual(
      [A, '203.0.113.99', '203.0.7.7', B, '198.51.100.7'].map((to) => drops(driver, to)),
      [false, false, false, true, true],
    );
    assert.deepEqual([left(driver), driver.readmissible()], [[WIDER, AROUND, A].toSorted(), []]);
    // Nor to one that is added or changed later.
    change(driver, [denyAll(AROUND, [allowPort('udp', 7)]), denyAll('203.0.113.0/28')]);
    assert.deepEqual([drops(driver, A), drops(driver, '203.0.113.99')], [false, false]);
    change(driver, [], [A]);
    assert.equal(driver.readmissible().length, 3);
    driver.change(driver.readmissible(), []);
    assert.deepEqual(
      [A, '203.0.113.99', '203.0.7.7', B].map((to) => drops(driver, to)),
      [true, true, true, true],
    );
  });

  it('prefers held addresses on a reload, and addresses to prefixes', () => {
    const driver = loaded(2, [denyAll(AROUND), denyAll(A), denyAll(B)]);
    assert.deepEqual([drops(driver, A), drops(driver, B), left(driver)], [true, true, [AROUND]]);
    driver.load([denyAll(C), denyAll(B)].map(compileEarly), SETTINGS, NO_UNIONS);
    driver.enforce();
    driver.load([denyAll(A), denyAll(B), denyAll(C)].map(compileEarly), SETTINGS, NO_UNIONS);
    driver.enforce();
    assert.deepEqual(
      [A, B, C].map((to) => drops(driver, to)),
      [false, true, true],
    );
  });

  it('drops nothing that the policies pass, for any changes at capacity', () => {
    const places = [A, B, C, AROUND, '203.0.113.8/29', WIDER, ELSEWHERE, '0.0.0.0/0'];
    const policy = fc.tuple(fc.constantFrom(...places), fc.constantFrom([], ...PORTS, LONG));
    const step = fc.array(fc.tuple(policy, fc.boolean()), { minLength: 1, maxLength: 4 });
    const hosts = [A, B, C, '203.0.113.13', '203.0.113.99', '203.0.7.7', '198.51.100.7', '8.8.8.8'];
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 250 }),
        fc.array(step, { maxLength: 8 }),
        (room, steps) => {
          const driver = loaded(room % 50 === 0 ? room : (room % 5) + 1, []);
          const wanted = new Map<string, Policy>();
          for (const changes of steps) {
            const gone = new Set<string>();
            const set = new Map<string, Policy>();
            for (const [[target, rules], goes] of changes) {
              const allowed = typeof rules === 'number' ? [allowPort('udp', rules)] : rules;
              if (goes) set.delete(target);
              else set.set(target, denyAll(target, [...allowed]));
              if (goes) gone.add(target);
              else gone.delete(target);
            }
            for (const [name, one] of set) wanted.set(name, one);
            for (const name of gone) wanted.delete(name);
            change(driver, [...set.values()], [...gone]);
            driver.change(driver.readmissible(), []);
            const view = viewOf([...wanted.values()]);
            for (const to of hosts) {
              for (const port of [1, 2, 1_000, 1_001]) {
                const { action } = decide(view, udpPacket(CLIENT, to, port), STATE);
                if (drops(driver, to, port)) assert.equal(action, 'drop', `${to} ${port}`);
                else if (driver.beyondCapacity().size === 0)
                  assert.equal(action, 'pass', `${to} ${port}`);
              }
            }
          }
        },
      ),
      { numRuns },
    );
  });
}

function viewOf(policies: readonly Policy[]) {
  return {
    settings: { localAddresses: [], management: [], sees: 'inbound', fragments: 'reassemble' },
    policies: createPolicyTable(policies),
    sourceSets: { version: '', sets: {} },
  } as const;
}

const STATE = {
  returnTraffic: false,
  icmpWithinRate: true,
  fragmentsWithinLimit: true,
  answered: false,
  aboveLimit: [],
  filtered: null,
} as const;
