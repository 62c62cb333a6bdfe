import { join } from 'node:path';
import { FILTERS } from '@portcullis/core/filters/catalogue.ts';
import { FILTER_PASSES } from '@portcullis/core/filters/reasons.ts';
import type { Filter, TcpFilter, UdpFilter } from '@portcullis/core/filters/filter.ts';
import type { EdgeSettings } from '@portcullis/core/firewall/packet.ts';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import type { Applied } from '@portcullis/edge/reconcile/reconcile.ts';
import { Reconciler } from '@portcullis/edge/reconcile/reconcile.ts';
import {
  DEFAULT_LIMITS,
  type EdgeLimits,
} from '@portcullis/dataplane/nftables/table/edge-rules.ts';
import { readFilterCounters } from '@portcullis/dataplane/filters/counters.ts';
import { FilterSupervisor } from '@portcullis/dataplane/filters/supervisor.ts';
import { removeWhere } from '@portcullis/dataplane/kernel/netlink/conntrack.ts';
import type { Driver } from '@portcullis/dataplane/nftables/driver.ts';
import { parseSet } from '@portcullis/dataplane/nftables/elements/kernel-set.ts';
import { createLibraryDriver } from '@portcullis/dataplane/nftables/library.ts';
import { createSysctls } from '@portcullis/dataplane/kernel/sysctls.ts';
import type { Namespace } from '../../stack/netns.ts';
import { createInternet, EDGE_DEVICE, type Internet } from '../../stack/internet.ts';

/** The change that a test makes to every filter. */
export interface FilterChange {
  readonly udp?: Partial<UdpFilter>;
  readonly tcp?: Partial<TcpFilter>;
}

/** An edge with filters and without a control plane: policies go directly to its kernel. */
export class FilterEdge {
  readonly internet: Internet;
  readonly driver: Driver;
  readonly supervisor: FilterSupervisor;
  #reconciler: Reconciler;
  readonly #catalogue: readonly Filter[];
  readonly #limits: EdgeLimits;
  #generation = 0;

  /** Catalogue values that a test overrides, for every filter. */
  constructor(label: string, change: FilterChange = {}, limits: Partial<EdgeLimits> = {}) {
    this.internet = createInternet(label);
    const { edge } = this.internet;
    this.driver = edge.within(() => createLibraryDriver());
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    this.#catalogue = FILTERS.map((filter) => ({
      ...filter,
      udp: filter.udp && { ...filter.udp, ...change.udp },
      tcp: filter.tcp && { ...filter.tcp, ...change.tcp },
    }));
    const sysctls = createSysctls();
    this.supervisor = new FilterSupervisor({
      driver: this.driver,
      log,
      removeConnections: (families, wanted) => edge.within(() => removeWhere(families, wanted)),
      sysctls: {
        read: (name) => edge.within(() => sysctls.read(name)),
        write: (name, value) => edge.within(() => sysctls.write(name, value)),
      },
      probeServer: async () => null,
    });
    this.#reconciler = this.#newReconciler();
  }

  /** Simulates a restart of the agent: forgets the known kernel state. */
  restart(): void {
    this.#reconciler = this.#newReconciler();
  }

  /** Signals that another process has changed the table, as an agent's guard does. */
  doubt(): void {
    this.#reconciler.invalidate();
  }

  #newReconciler(): Reconciler {
    const filtering = { catalogue: this.#catalogue };
    return new Reconciler(this.driver, this.#limits, filtering);
  }

  async apply(policies: readonly Policy[], sees: EdgeSettings['sees'] = 'both'): Promise<Applied> {
    const there = await this.driver.present();
    const before = this.#reconciler.targets;
    const applied = await this.#reconciler.apply({
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
    const after = this.#reconciler.targets ?? new Map();
    await this.supervisor.applied(before ?? (there ? after : new Map()), after);
    return applied;
  }

  /** Keys of the elements of one of our sets. */
  async keys(set: string): Promise<string[]> {
    return parseSet(await this.driver.list(set)).map(({ fields }) => fields.join(' '));
  }

  /** Packets that filters dropped, by `address port reason`. */
  async dropped(): Promise<Record<string, number>> {
    const counters = await readFilterCounters(this.driver);
    return Object.fromEntries(
      counters
        .filter(({ reason }) => !(reason in FILTER_PASSES))
        .map(({ target, port, reason, packets }) => [`${target} ${port} ${reason}`, packets]),
    );
  }

  /** Packets that filters let through, by `address port kind`. */
  async passed(): Promise<Record<string, number>> {
    const counters = await readFilterCounters(this.driver);
    return Object.fromEntries(
      counters
        .filter(({ reason }) => reason in FILTER_PASSES)
        .map(({ target, port, reason, packets }) => [`${target} ${port} ${reason}`, packets]),
    );
  }

  /** Sends one packet from each of a number of forged sources; returns when all have left. */
  noise(kind: 'udp' | 'syn' | 'ack' | 'fin', address: string, port: number, count: number): void {
    const script = join(import.meta.dirname, '..', '..', 'wire', 'noise.py');
    this.internet.client.run('python3', script, kind, address, String(port), String(count));
  }

  /** Connections that the edge tracks. */
  connections(): string[] {
    return ['ipv4', 'ipv6'].flatMap((family) =>
      this.internet.edge.run('conntrack', '-L', '-f', family).split('\n').filter(Boolean),
    );
  }

  /** Puts this number of elements into a set. */
  async fill(set: string, count: number, key: (index: number) => string): Promise<void> {
    const lines: string[] = [];
    for (let at = 0; at < count; at += 8192) {
      const keys = Array.from({ length: Math.min(8192, count - at) }, (_, index) =>
        key(at + index),
      );
      lines.push(`add element inet portcullis ${set} { ${keys.join(', ')} }`);
    }
    await this.driver.apply(`${lines.join('\n')}\n`);
  }

  /** SYNs that the proxy has answered. */
  proxiedSyns(): number {
    const [, ...cpus] = this.internet.edge.run('cat', '/proc/net/stat/synproxy').trim().split('\n');
    return cpus.reduce((sum, line) => sum + Number.parseInt(line.split('\t')[1] ?? '', 16), 0);
  }

  /**
   * Counts packets that arrive in a namespace from now on, until the next count there; the result returns the count.
   */
  countAt(namespace: Namespace, match: string): () => number {
    const table = `add table inet counting
      add chain inet counting input { type filter hook prerouting priority -350; }
      flush chain inet counting input
      add rule inet counting input ${match} counter`;
    namespace.run('nft', table);
    return () => {
      const listed = namespace.run('nft', 'list', 'chain', 'inet', 'counting', 'input');
      return Number(/counter packets (\d+)/.exec(listed)?.[1]);
    };
  }

  destroy(): void {
    this.supervisor.stop();
    this.internet.destroy();
  }
}
