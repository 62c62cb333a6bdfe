import { join } from 'node:path';
import { FILTERS } from '@portcullis/core/filters/catalogue.ts';
import type { Filter } from '@portcullis/core/filters/filter.ts';
import type { EdgeSettings } from '@portcullis/core/firewall/packet.ts';
import type { Policy, PolicyFilter } from '@portcullis/core/firewall/policy.ts';
import type { Applied } from '@portcullis/edge/reconcile.ts';
import { Reconciler } from '@portcullis/edge/reconcile.ts';
import { DEFAULT_LIMITS } from '@portcullis/edge/nftables/base-chain.ts';
import { createNftDriver } from '@portcullis/edge/nftables/nft.ts';
import { createInternet, EDGE_DEVICE, type Internet } from '../internet.ts';
import { sysctl } from '../netns.ts';

/** An edge that holds filters, without a control plane: policies go straight to its kernel. */
export class FilterGround {
  readonly internet: Internet;
  readonly #reconciler: Reconciler;
  #generation = 0;

  constructor(label: string, change: Partial<Filter> = {}) {
    this.internet = createInternet(label);
    sysctl(this.internet.edge, 'net.netfilter.nf_conntrack_tcp_loose', 0);
    const driver = createNftDriver({ command: this.internet.edge.command('nft') });
    // Whatever a test changes of the catalogue, it changes of every filter there is.
    const catalogue = FILTERS.map((filter) => ({ ...filter, ...change }));
    this.#reconciler = new Reconciler(driver, DEFAULT_LIMITS, catalogue);
  }

  async apply(policies: readonly Policy[], sees: EdgeSettings['sees'] = 'both'): Promise<Applied> {
    return this.#reconciler.apply({
      generation: ++this.#generation,
      policies: new Map(policies.map((policy) => [policy.target, policy])),
      sourceSets: { version: '1', sets: {} },
      settings: {
        name: 'lab',
        site: 'lab',
        devices: [EDGE_DEVICE],
        management: [],
        sees,
        fragments: 'reassemble',
      },
    });
  }

  /** The elements of one of our sets, as nft writes them in JSON. */
  elements(
    set: string,
  ): { readonly concat: readonly (string | number)[]; readonly counter: number }[] {
    const { edge } = this.internet;
    const listed = JSON.parse(edge.run('nft', '-j', 'list', 'set', 'inet', 'portcullis', set)) as {
      readonly nftables: readonly { readonly set?: { readonly elem?: readonly Listed[] } }[];
    };
    const elements = listed.nftables.flatMap((one) => one.set?.elem ?? []);
    return elements.map(({ elem }) => ({
      concat: elem.val.concat,
      counter: elem.counter?.packets ?? 0,
    }));
  }

  /** Packets from as many forged sources; returns when all have left. */
  noise(kind: 'udp' | 'syn', address: string, port: number, count: number): void {
    const script = join(import.meta.dirname, '..', 'wire', 'noise.py');
    this.internet.client.run('python3', script, kind, address, String(port), String(count));
  }

  destroy(): void {
    this.internet.destroy();
  }
}

interface Listed {
  readonly elem: {
    readonly val: { readonly concat: readonly (string | number)[] };
    readonly counter?: { readonly packets: number };
  };
}

export function filtered(
  target: string,
  ...filters: readonly (readonly [type: PolicyFilter['type'], port: number])[]
): Policy {
  return {
    target,
    mitigations: [],
    baseline: [],
    geo: [],
    rules: [],
    filters: filters.map(([type, port], index) => ({
      ref: `filter:${index + 1}`,
      type,
      port,
      managed: false,
    })),
  };
}
