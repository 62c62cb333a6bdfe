import type { Policy } from '@portcullis/core/firewall/policy.ts';
import type { Desired } from '@portcullis/dataplane/desired.ts';
import { opening } from './control.ts';

const TARGETS = 40;

/** A desired state determined by its generation: each differs from the previous one in a few policies. */
export function stateOf(generation: number): Desired {
  const policies = new Map<string, Policy>();
  for (let index = 0; index < TARGETS; index += 1) {
    const target = `203.0.113.${index}`;
    const since = generation + 7 - ((generation + index) % 7);
    if ((generation + index) % 5 !== 0) policies.set(target, opening(target, 1 + (since % 60_000)));
  }
  const [behind = ''] = policies.keys();
  const version = `${Math.floor(generation / 9)}`;
  const network = `192.0.2.${Math.floor(generation / 9) % 256}`;
  return {
    generation,
    policies,
    ...(generation % 4 === 0 ? { behind: new Map([[behind, generation - 1]]) } : {}),
    sourceSets: { version, sets: { 'country:XX': [network], 'asn:64496': [] } },
    settings: {
      name: 'fra1',
      site: 'fra',
      devices: ['wan'],
      management: [{ protocol: 'tcp', port: 22 + (generation % 3) }],
      sees: 'both',
      fragments: 'reassemble',
    },
  };
}
