import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createMap, testRun, updateElement } from '@portcullis/dataplane/kernel/bpf/bpf.ts';
import { loadProgram } from '@portcullis/dataplane/kernel/bpf/bpf-program.ts';
import { readArtifact, relocated } from '@portcullis/dataplane/kernel/bpf/bpf-artifact.ts';
import { type Counted, encodePlan, FRAME_BYTES, PLAN_BYTES, type Round } from './plan.ts';

/**
 * Sends packets made in the kernel, in rounds: a `Round` a line on standard input, `Counted` a line back.
 * Runs inside the network namespace of the devices it sends from.
 */
/** The number of packets that a poll of the device behind takes at once. */
const BATCH = 64;
const FIRST = Buffer.alloc(4);

const { maps, programs, license } = readArtifact(join(import.meta.dirname, 'generator.bpf.json'));
const shape = maps['plans'];
const code = programs['xdp'];
if (code === undefined || shape?.valueSize !== PLAN_BYTES)
  throw new Error('generator.bpf.json is not of plan.ts: npm run build:bpf');
const plans = createMap('plans', shape);
const program = loadProgram('generate', {
  type: code.type,
  instructions: relocated(code, { plans }),
  license,
});

createInterface({ input: process.stdin }).on('line', (line) => {
  process.stdout.write(`${JSON.stringify(run(JSON.parse(line) as Round))}\n`);
});

function run({ device, ifindex, plan, packets }: Round): Counted {
  updateElement(plans, FIRST, encodePlan(plan));
  const packet = Buffer.alloc(FRAME_BYTES[plan.family]);
  const before = taken(device);
  const live = { batch: BATCH };
  const { ns } = testRun({ program, packet, repeat: packets, ingress: ifindex, live });
  return { sent: packets, taken: taken(device) - before, ns };
}

/** Counts frames: what the other end of a veth took counts as sent by this one. */
function taken(device: string): number {
  const line = readFileSync('/proc/net/dev', 'utf8')
    .split('\n')
    .find((one) => one.trimStart().startsWith(`${device}:`));
  return Number(line?.split(':')[1]?.trim().split(/\s+/)[9] ?? Number.NaN);
}
