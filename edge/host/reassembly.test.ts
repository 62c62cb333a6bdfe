import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import {
  FRAGMENT_LIMITS,
  fitToMemory,
  reassemblyBytes,
} from '@portcullis/core/firewall/fragment-limits.ts';
import { createLineLog } from '@portcullis/agent/log.ts';
import { Reassembly } from './reassembly.ts';

const TIME = 'net/ipv4/ipfrag_time';
const MEMORY = 'net/ipv4/ipfrag_high_thresh';
const MEMORY6 = 'net/netfilter/nf_conntrack_frag6_high_thresh';
const NEEDED = reassemblyBytes(FRAGMENT_LIMITS);

describe('the reassembly memory', () => {
  it('is raised and its timeout shortened if insufficient, and restored afterwards', (t) => {
    const { values, create } = host(t, { [TIME]: 30, [MEMORY]: 4_194_304, [MEMORY6]: 2 * NEEDED });
    create().apply();
    assert.deepEqual(values, { [TIME]: 2, [MEMORY]: NEEDED, [MEMORY6]: 2 * NEEDED });
    create().restore();
    assert.deepEqual(values, { [TIME]: 30, [MEMORY]: 4_194_304, [MEMORY6]: 2 * NEEDED });
  });

  it('is restored to the value before the first agent, and never over a foreign value', (t) => {
    const { values, create, stateDir } = host(t, { [TIME]: 30, [MEMORY]: 4_194_304 });
    create().apply();
    values[MEMORY] = 100;
    create().apply();
    assert.equal(values[MEMORY], NEEDED);
    values[TIME] = 1;
    create().restore();
    assert.deepEqual(values, { [TIME]: 1, [MEMORY]: 4_194_304 });
    assert.deepEqual(readdirSync(stateDir), []);
  });

  it('is reported as a problem while it cannot be set', (t) => {
    const { values, create, refuse } = host(t, { [TIME]: 30 });
    const reassembly = create();
    refuse.add(TIME);
    reassembly.apply();
    assert.deepEqual(reassembly.problems(), [
      `A flood of fragments may fill the memory of reassembly: could not set ${TIME} to 2.`,
    ]);
    refuse.clear();
    reassembly.apply();
    assert.deepEqual([reassembly.problems(), values], [[], { [TIME]: 2 }]);
  });

  it('never exceeds a share of the host memory; limits are reduced to it', () => {
    assert.equal(fitToMemory(FRAGMENT_LIMITS, NEEDED), FRAGMENT_LIMITS);
    const small = fitToMemory(FRAGMENT_LIMITS, NEEDED / 8);
    assert.ok(reassemblyBytes(small) <= NEEDED / 8);
    assert.ok(Object.values(small).every((rate) => Number.isInteger(rate) && rate >= 1));
  });
});

interface TestHost {
  readonly values: Record<string, number>;
  readonly refuse: Set<string>;
  readonly stateDir: string;
  /** Another process on the same host. */
  create(): Reassembly;
}

function host(t: TestContext, values: Record<string, number>): TestHost {
  const stateDir = mkdtempSync(join(tmpdir(), 'portcullis-reassembly-'));
  t.after(() => rmSync(stateDir, { recursive: true }));
  const refuse = new Set<string>();
  const sysctls = {
    read: (name: string) => values[name] ?? null,
    write: (name: string, value: number) => {
      if (refuse.has(name)) throw new Error('read-only file system');
      values[name] = value;
    },
  };
  const log = createLineLog('edge', () => {});
  const create = (): Reassembly =>
    new Reassembly({ sysctls, limits: FRAGMENT_LIMITS, stateDir, log });
  return { values, refuse, stateDir, create };
}
