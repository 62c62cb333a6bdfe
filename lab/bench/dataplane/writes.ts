import type { Policy } from '@portcullis/core/firewall/policy.ts';
import { VersionedMap } from '@portcullis/dataplane/compile/versioned-map.ts';
import type { Driver } from '@portcullis/dataplane/nftables/driver.ts';
import { createLibraryDriver } from '@portcullis/dataplane/nftables/library.ts';
import { createNftDriver } from '@portcullis/dataplane/nftables/nft.ts';
import { openRuleset, type Ruleset } from '@portcullis/dataplane/nftables/ruleset.ts';
import { TABLE } from '@portcullis/dataplane/nftables/names.ts';
import { DEFAULT_LIMITS } from '@portcullis/dataplane/nftables/table/edge-rules.ts';
import { Reconciler } from '@portcullis/edge/reconcile/reconcile.ts';
import { missing } from '../../requirements.ts';
import { type Namespace, Network } from '../../stack/netns.ts';
import { median, quantile } from '../measure.ts';
import type { Bench, Row } from '../report.ts';
import { addressOf, type Fleet, policyOf, policiesOf } from './policies.ts';
import { settingsOf } from './subjects.ts';

type Say = (line: string) => void;

const SIZES = [20_000, 100_000];
const CHANGES = 200;
const WARM_UP = 20;
const PORT = 27_016;

/**
 * How long the kernel takes for the change of one address, beside the change of one element with a chain in a map of
 * verdicts with as many elements. Both go through netlink, in turn.
 */
export const writesBench: Bench = {
  name: 'writes',
  missing: () => missing(['root', 'netns', 'nft']),
  run: async (say) => {
    const rows: Row[] = [];
    for (const addresses of SIZES) rows.push(await rowOf(addresses, say));
    return rows;
  },
};

async function rowOf(addresses: number, say: Say): Promise<Row> {
  const network = new Network('writes');
  try {
    const baseline = await verdictMap(network.create('verdicts'), addresses);
    const times: number[] = [];
    const edge = await enforcing(network.create('edge'), addresses, times);
    const besides: number[] = [];
    for (let index = 0; index < WARM_UP + CHANGES; index++) {
      if (index === WARM_UP) times.length = 0;
      await edge(index);
      const ms = await baseline(index);
      if (index >= WARM_UP) besides.push(ms);
    }
    const name = `${addresses.toLocaleString('en')} addresses x 10 rules`;
    const text = (all: readonly number[]): string =>
      `p50 ${median(all).toFixed(2)}, p99 ${quantile(all, 0.99).toFixed(2)} ms`;
    say(`${name}: ${text(times)}; a verdict map: ${text(besides)}`);
    return {
      name: `one address of ${name} changed in the kernel, beside one element with a chain`,
      value: median(times),
      unit: 'ms',
      baseline: median(besides),
      goal: 0.1,
      goalIs: 'at most',
    };
  } finally {
    network.destroy();
  }
}

/** Enforces a fleet. Returns what opens a port of one of its addresses, and writes the time of that to `times`. */
async function enforcing(
  namespace: Namespace,
  addresses: number,
  times: number[],
): Promise<(index: number) => Promise<void>> {
  const fleet: Fleet = { family: 4, addresses, rules: 10, end: 'deny' };
  const nft = createNftDriver({ command: namespace.command('nft') });
  const driver = namespace.within(() => createLibraryDriver(nft));
  const reconciler = new Reconciler(timed(driver, times), DEFAULT_LIMITS);
  let policies = VersionedMap.from(policiesOf(fleet).map((policy) => [policy.target, policy]));
  const apply = async (generation: number): Promise<void> => {
    const sourceSets = { version: '', sets: {} };
    const { refused } = await reconciler.apply({
      generation,
      policies,
      sourceSets,
      settings: { name: 'edge', site: 'lab', ...settingsOf('inbound') },
    });
    if (refused.length > 0) throw new Error('the kernel refused an address');
  };
  await apply(1);
  return async (index) => {
    const policy = opened(policyOf(fleet, index));
    policies = policies.with([[policy.target, policy]]);
    await apply(index + 2);
  };
}

function opened(policy: Policy): Policy {
  const rule = { action: 'allow', protocol: 'udp', port: PORT, source: null } as const;
  return { ...policy, rules: [{ ref: 'rule:2', ...rule }, ...policy.rules] };
}

function timed(driver: Driver, times: number[]): Driver {
  return {
    ...driver,
    change: async (change) => {
      const startMs = performance.now();
      await driver.change(change);
      times.push(performance.now() - startMs);
    },
  };
}

/** A table that nothing but a map of verdicts is in. Returns what replaces one element, and takes how long. */
async function verdictMap(
  namespace: Namespace,
  count: number,
): Promise<(index: number) => Promise<number>> {
  const key = (index: number): string => `${addressOf(4, index)} . ${PORT}`;
  const elements = Array.from({ length: count }, (_, index) => `${key(index)} : goto one`);
  const text = `table ${TABLE} {
 chain one { }
 chain other { }
 map learn4 { type ipv4_addr . inet_service : verdict; size ${count * 2}; elements = { ${elements.join(', ')} }; }
 chain prerouting {
  type filter hook prerouting priority 0; policy accept;
  ip daddr . th dport vmap @learn4
 }
}
`;
  await createNftDriver({ command: namespace.command('nft') }).apply(text);
  const rules: Ruleset = namespace.within(openRuleset);
  return async (index) => {
    const startMs = performance.now();
    const added = [[key(index), 'goto other']] as const;
    await rules.change([{ map: 'learn4', removed: [key(index)], added }]);
    return performance.now() - startMs;
  };
}
