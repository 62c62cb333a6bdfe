import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Cidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import type { Count } from '../../nftables/elements/counter-reader.ts';
import { ConnectionCounters } from './connections.ts';
import type { AnsweredSource } from './reader.ts';

const [ONE, NET] = ['203.0.113.1', '203.0.113.0/24'] as const;

function cidr(text: string): Cidr {
  const parsed = parseCidr(text);
  assert.ok(parsed.ok);
  return parsed.value;
}

/** A kernel that keeps what was applied, and whose counters the test sets. */
function setUp(refuses: (text: string) => boolean = () => false) {
  const applied: string[] = [];
  const sets = new Map<string, Map<string, Count>>();
  let sources: (readonly [AnsweredSource, Count])[] = [];
  let nowMs = 0;
  const counters = new ConnectionCounters({
    apply: async (text) => {
      if (refuses(text)) throw new Error('refused');
      applied.push(text);
    },
    open: () => ({
      elements: async (set) => sets.get(set) ?? new Map<string, Count>(),
      sources: async () => sources,
      close: () => {},
    }),
    nowMs: () => nowMs,
  });
  counters.enter(['wan']);
  counters.watch([cidr(NET)]);
  return {
    counters,
    applied,
    set: (name: string, key: string, packets: number, bytes = packets * 100) => {
      sets.set(name, (sets.get(name) ?? new Map<string, Count>()).set(key, { packets, bytes }));
    },
    setSources: (all: typeof sources) => void (sources = all),
    wait: (ms: number) => void (nowMs += ms),
  };
}

test('reads what each busy subject got since the last reading, an address apart from its network', async () => {
  const { counters, set } = setUp();
  await counters.count([ONE, NET]);
  set('stray_data_addresses4', ONE, 10, 5_520);
  set('stray_data_networks4', '203.0.113.0', 12, 6_624);
  // Four packets that the kernel has merged.
  set('answers_addresses4', ONE, 1, 4 * 1_448);
  set('served_addresses4', ONE, 3);
  const first = (await counters.read()).subjects;
  assert.deepEqual(first.get(ONE), {
    strayData: { packets: 10, bytes: 5_520 },
    strayAcks: { packets: 0, bytes: 0 },
    answers: 4 * 8,
    served: 3,
  });
  assert.equal(first.get(NET)?.strayData.packets, 12);
  set('stray_data_addresses4', ONE, 15, 8_280);
  const { subjects } = await counters.read();
  assert.equal(subjects.get(ONE)?.strayData.packets, 5);
  assert.equal(subjects.get(ONE)?.served, 0);
  // A subject that is counted again begins anew.
  await counters.count([NET]);
  assert.deepEqual([...(await counters.read()).subjects.keys()], [NET]);
});

test('estimates the packets of answered sources', async () => {
  const { counters, setSources } = setUp();
  await counters.count([ONE]);
  const one = { destination: ONE, source: '198.51.100.7', protocol: 17 };
  setSources([[one, { packets: 3, bytes: 300 }]]);
  assert.deepEqual((await counters.read()).answered, [{ ...one, packets: 24 }]);
  setSources([[one, { packets: 4, bytes: 400 }]]);
  assert.deepEqual((await counters.read()).answered, [{ ...one, packets: 8 }]);
  assert.deepEqual((await counters.read()).answered, []);
});

test('has a table only while a subject is busy, and removes that of an earlier agent', async () => {
  const { counters, applied } = setUp();
  await counters.count([]);
  await counters.count([]);
  assert.equal(applied.length, 1);
  assert.match(applied[0] ?? '', /^add table .*\ndelete table .*\n$/);
  await counters.count([ONE]);
  await counters.count([ONE]);
  assert.equal(applied.length, 2);
  await counters.count([ONE, NET]);
  assert.doesNotMatch(applied[2] ?? '', /add chain/);
  await counters.count([]);
  assert.match(applied[3] ?? '', /delete table/);
  counters.enter([]);
  await counters.count([ONE]);
  assert.equal(applied.length, 4, 'nothing without devices');
});

test('does without labels where the kernel has none', async () => {
  const { counters, applied } = setUp((text) => text.includes('ct label'));
  await counters.count([ONE]);
  assert.equal(applied.length, 1);
  assert.deepEqual(counters.problems(), []);
  assert.equal((await counters.read()).subjects.get(ONE)?.served, 0);
});

test('says so when the kernel refuses, counts nothing, and tries again later', async () => {
  let isBroken = true;
  const { counters, applied, wait } = setUp(() => isBroken);
  await counters.count([ONE]);
  assert.match(counters.problems().join(), /^Connections cannot be counted: refused\.$/);
  assert.equal((await counters.read()).subjects.size, 0);
  isBroken = false;
  await counters.count([ONE]);
  assert.equal(applied.length, 0, 'not at once');
  wait(60_000);
  await counters.count([ONE]);
  assert.deepEqual([applied.length, counters.problems()], [1, []]);
});
