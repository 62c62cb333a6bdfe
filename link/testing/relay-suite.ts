import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import type { WatchSamples } from '../messages/attacks.ts';
import type { AgentRef } from '../messages/messages.ts';
import { eventually } from './meeting.ts';
import type { SampleRelay } from '../transport/relay.ts';

const FROM: AgentRef = { kind: 'edge', name: 'fra1' };

/** Tests a relay by the ends of two replicas. */
export function relaySuite(
  name: string,
  open: (t: TestContext) => Promise<readonly [SampleRelay, SampleRelay]>,
): void {
  it(`the ${name} relay passes samples to the replica that takes them, and to none while none does`, async (t) => {
    const [first, second] = await open(t);
    const taken: string[] = [];
    const takeAs =
      (replica: string) =>
      (from: AgentRef, site: string, { sequence }: WatchSamples): void => {
        taken.push(`${replica}: ${from.name} ${site} ${sequence}`);
      };
    assert.equal(await second.pass(FROM, 'fra', samples(1)), false);
    first.serve(takeAs('first'));
    await eventually(async () => assert.ok(await second.pass(FROM, 'fra', samples(2))));
    first.serve(null);
    second.serve(takeAs('second'));
    await eventually(async () => assert.ok(await first.pass(FROM, 'fra', samples(3))));
    const unique = [...new Set(taken)];
    assert.deepEqual(unique, ['first: fra1 fra 2', 'second: fra1 fra 3']);
  });
}

function samples(sequence: number): WatchSamples {
  return { kind: 'watch.samples', instance: 'one', sequence, atMs: 1, samples: [] };
}
