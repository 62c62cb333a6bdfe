import { setTimeout as wait } from 'node:timers/promises';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { createInternet, type Internet } from '../../stack/internet.ts';
import { missing } from '../../requirements.ts';
import { startStack } from '../../stack/stack.ts';
import { BenchEdge } from './edge-process.ts';
import { median, quantile } from '../measure.ts';
import { addressOf, type Fleet, policiesOf, policyOf } from './policies.ts';
import type { Bench, Row } from '../report.ts';
import { BENCH_FLEET, fillStack } from './stack-fixture.ts';
import { settingsOf } from './subjects.ts';
import { PROBE_PORT, WireProbe } from './wire-probe.ts';

const FLEET: Fleet = { family: 4, addresses: 10_000, rules: 10, end: 'deny' };
const STARTS = 3;
const CHANGES = 200;
const API_CHANGES = 100;
const IDLE_MS = 10_000;
const BUSY_MS = 10_000;
const CHANGES_PER_SECOND = 100;
const AT = 'at 10,000 addresses x 10 rules';

type Say = (line: string) => void;

/** How soon the edge's own process enforces, and what it uses. */
export const edgeBench: Bench = {
  name: 'edge',
  missing: () => missing(['root', 'netns', 'nft', 'bpf', 'postgres']),
  run: async (say) => {
    const internet = createInternet('bench');
    const probe = prepareProbe(internet);
    try {
      return [...(await edgeRows(internet, probe, say)), ...(await apiRows(internet, probe, say))];
    } finally {
      probe.stop();
      internet.destroy();
    }
  },
};

/** Every address of the fleet is one of the edge host, so that what passes arrives. */
function prepareProbe({ client, edge }: Internet): WireProbe {
  edge.run('ip', 'route', 'add', 'local', '10.0.0.0/16', 'dev', 'lo');
  return new WireProbe(client, edge);
}

async function edgeRows({ edge: host }: Internet, probe: WireProbe, say: Say): Promise<Row[]> {
  const edge = new BenchEdge(host, policiesOf(FLEET), settingsOf('both'));
  try {
    const starts = await coldStarts(edge, say);
    const delays = await changeDelays(edge, probe, say);
    const idle = await usedIn(edge, IDLE_MS);
    const busy = await usedIn(edge, BUSY_MS, (at) => {
      const index = CHANGES + (at % (FLEET.addresses - CHANGES));
      edge.change(opened(policyOf(FLEET, index)));
    });
    return [
      upper(`cold start of the edge ${AT}, to all of it enforced`, median(starts), 'ms', 3_000),
      upper(
        `one address changed ${AT}: accepted by the edge to the wire, p50`,
        median(delays),
        'ms',
      ),
      upper(
        `one address changed ${AT}: accepted by the edge to the wire, p99`,
        quantile(delays, 0.99),
        'ms',
        30,
      ),
      upper(`resident memory of the edge ${AT}`, idle.residentMib, 'MiB'),
      upper(`processor time of the edge ${AT}, idle`, idle.cpuPercent, '% of a core'),
      upper(
        `processor time of the edge ${AT}, ${CHANGES_PER_SECOND} changes/s`,
        busy.cpuPercent,
        '% of a core',
      ),
      upper(
        `resident memory of the edge ${AT}, ${CHANGES_PER_SECOND} changes/s`,
        busy.residentMib,
        'MiB',
      ),
    ];
  } finally {
    await edge.forget();
    await edge.destroy();
  }
}

async function coldStarts(edge: BenchEdge, say: Say): Promise<number[]> {
  const starts: number[] = [];
  for (let start = 0; start < STARTS; start++) {
    await edge.forget();
    starts.push(await edge.start());
  }
  say(`cold starts: ${starts.map(Math.round).join(', ')} ms`);
  return starts;
}

async function changeDelays(edge: BenchEdge, probe: WireProbe, say: Say): Promise<number[]> {
  const delays: number[] = [];
  for (let index = 0; index < CHANGES; index++) {
    const policy = opened(policyOf(FLEET, index));
    delays.push(await probe.delayOf(policy.target, () => void edge.change(policy)));
  }
  sayDelays(say, 'accepted by the edge to the wire', delays);
  return delays;
}

async function apiRows(internet: Internet, probe: WireProbe, say: Say): Promise<Row[]> {
  const stack = await startStack(internet, { fleet: BENCH_FLEET });
  try {
    await fillStack(stack, FLEET);
    const delays: number[] = [];
    for (let index = 0; index < API_CHANGES; index++) {
      const address = addressOf(4, index);
      delays.push(
        await probe.delayOf(address, async () => {
          const rule = { action: 'allow', protocol: 'udp', destination_port: String(PROBE_PORT) };
          const { status } = await stack.api.call(
            'POST',
            `/api/v1/firewall/ips/${address}/rules`,
            rule,
          );
          if (status !== 201) throw new Error(`a rule was answered with ${status}`);
        }),
      );
    }
    sayDelays(say, 'API call to the wire', delays);
    return [
      upper(`one rule created ${AT}: API call to the wire, p50`, median(delays), 'ms'),
      upper(`one rule created ${AT}: API call to the wire, p99`, quantile(delays, 0.99), 'ms', 100),
    ];
  } finally {
    await stack.stop();
  }
}

function opened(policy: Policy): Policy {
  const { rules } = policy;
  const rule = {
    ref: 'rule:2',
    action: 'allow',
    protocol: 'udp',
    port: PROBE_PORT,
    source: null,
  } as const;
  return { ...policy, rules: [rule, ...rules] };
}

/** Resources of the edge's process over a time in which nothing, or `change`, happens. */
async function usedIn(
  edge: BenchEdge,
  ms: number,
  change?: (at: number) => void,
): Promise<{ residentMib: number; cpuPercent: number }> {
  const begin = performance.now();
  const before = edge.use();
  if (change === undefined) await wait(ms);
  else
    for (let at = 0; performance.now() - begin < ms; at++) {
      change(at);
      await wait(Math.max(0, begin + ((at + 1) * 1000) / CHANGES_PER_SECOND - performance.now()));
    }
  const after = edge.use();
  const cpuPercent = ((after.cpuMs - before.cpuMs) / (performance.now() - begin)) * 100;
  return { residentMib: after.residentMib, cpuPercent };
}

function sayDelays(say: Say, what: string, delays: readonly number[]): void {
  const [p50, p90, p99] = [0.5, 0.9, 0.99].map((share) => quantile(delays, share).toFixed(1));
  say(`${what}: p50 ${p50}, p90 ${p90}, p99 ${p99} ms`);
}

function upper(name: string, value: number, unit: string, goal: number | null = null): Row {
  return { name, value, unit, baseline: null, goal, goalIs: 'at most' };
}
