import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SystemError } from '../kernel/native.ts';
import { FLUSH_SAMPLES, REMOVE_SAMPLES } from './ruleset.ts';
import { PassedSampler } from './sampler.ts';

const SAMPLE = {
  destination: '203.0.113.1',
  source: '198.51.100.7',
  protocol: 17,
  destinationPort: 53,
  packets: 3,
};

function world() {
  const applied: string[] = [];
  const kernel = { samples: [] as (typeof SAMPLE)[], isGone: false };
  const sampler = new PassedSampler({
    apply: async (text) => {
      applied.push(text);
      kernel.isGone = false;
    },
    open: () => ({
      read: async () => {
        if (kernel.isGone) throw new SystemError('dump', 2);
        return kernel.samples.splice(0);
      },
      close() {},
    }),
  });
  return { applied, kernel, sampler };
}

test('leaves the kernel alone until there is something to sample, and changes it only then', async () => {
  const { applied, sampler } = world();
  await sampler.read();
  sampler.watch(['203.0.113.0/24']);
  await sampler.read();
  assert.deepEqual(applied, []);
  sampler.enter(['eth0'], 'both');
  await sampler.read();
  await sampler.read();
  assert.equal(applied.length, 1);
  assert.match(applied[0] ?? '', /iifname != "eth0" accept[^]* @held4 goto take4/);
  sampler.enter([], 'both');
  await sampler.read();
  await sampler.close();
  assert.deepEqual(applied.slice(1), [REMOVE_SAMPLES]);
});

test('empties the sets that it has read, and writes the table again after others deleted it', async () => {
  const { applied, kernel, sampler } = world();
  sampler.watch(['203.0.113.0/24']);
  sampler.enter(['eth0'], 'both');
  await sampler.read();
  kernel.samples.push(SAMPLE);
  assert.deepEqual((await sampler.read()).passed, [SAMPLE]);
  assert.deepEqual(applied.slice(1), [FLUSH_SAMPLES]);
  kernel.isGone = true;
  assert.deepEqual((await sampler.read()).passed, []);
  assert.deepEqual(applied[2], applied[0]);
});

test('an edge that sees one direction does not load conntrack', async () => {
  const { applied, sampler } = world();
  sampler.watch(['203.0.113.0/24']);
  sampler.enter(['eth0'], 'inbound');
  await sampler.read();
  assert.doesNotMatch(applied[0] ?? '', /\bct\b/);
});
