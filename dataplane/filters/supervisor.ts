import { describeKernelError } from '../kernel/describe-error.ts';
import type { Log } from '@portcullis/core/log.ts';
import type { CompiledTarget } from '../nftables/policy/compiled.ts';
import type { Driver } from '../nftables/driver.ts';
import type { Sysctls } from '../kernel/sysctls.ts';
import { changedKeys } from '../compile/changed-keys.ts';
import { type ChangedPort, changedPorts, changesLimits } from './changes.ts';
import { FORGET_LIMITS } from '../nftables/filters/state.ts';
import { FilterDrops } from './drops.ts';
import { FilterInventory } from './inventory.ts';
import { reconnectPorts, type RemoveConnections } from './reconnect.ts';
import { KnownServers, type KnownServersOptions } from './servers.ts';
import type { TcpServer } from './tcp-server.ts';

export interface FilterSupervisorOptions {
  readonly driver: Driver;
  readonly log: Log;
  readonly removeConnections: RemoveConnections;
  readonly sysctls: Sysctls;
  readonly probeServer?: KnownServersOptions['probe'];
}

/** The number of ports kept for a retry. */
const MAX_PORTS = 100_000;

type Targets = ReadonlyMap<string, CompiledTarget>;

/** Disables the pickup of established connections, so that a connection not opened by the proxy is not accepted. */
const STRICT = { name: 'net/netfilter/nf_conntrack_tcp_loose', value: 0 } as const;
const COOKIES = { name: 'net/ipv4/tcp_syncookies', least: 1 } as const;

/**
 * Maintains what filters need besides the table: kernel settings, handshake options of servers, and the reset of
 * connections.
 */
export class FilterSupervisor {
  readonly #options: FilterSupervisorOptions;
  readonly #servers: KnownServers;
  readonly drops: FilterDrops;
  #onServers: (addresses: readonly string[]) => void = () => {};
  readonly #inventory = new FilterInventory();
  #reconnecting: ChangedPort[] = [];
  #problems: readonly string[] = [];

  constructor(options: FilterSupervisorOptions) {
    this.#options = options;
    this.drops = new FilterDrops(options.driver);
    this.#servers = new KnownServers({
      onChange: (addresses) => this.#onServers(addresses),
      ...(options.probeServer === undefined ? {} : { probe: options.probeServer }),
    });
  }

  /** `changed` is called with the addresses that must be compiled again. */
  onServers(changed: (addresses: readonly string[]) => void): void {
    this.#onServers = changed;
  }

  serverAt(address: string, port: number): TcpServer | null {
    return this.#servers.at(address, port);
  }

  /** The number of enforced filtered ports. */
  count(): number {
    return this.#inventory.filters;
  }

  problems(): readonly string[] {
    return this.#problems;
  }

  /** Called when the kernel has changed from `before` to `after`. Never throws: a failure becomes a problem. */
  async applied(before: Targets, after: Targets): Promise<void> {
    const { removed, added } = this.#inventory.update(after);
    const problems = this.#inventory.unknown.map(
      (type) => `filters of type ${type} need a newer edge than this`,
    );
    if (this.#inventory.proxied > 0) problems.push(...this.#prepareKernel());
    const { driver, removeConnections, log } = this.#options;
    // Retries what failed before.
    const names = [...changedKeys(before, after)];
    const changed = changedPorts(before, after, names);
    this.#reconnecting = [...this.#reconnecting, ...changed].slice(-MAX_PORTS);
    try {
      await this.drops.begin();
      if (changesLimits(before, after, names)) await driver.apply(FORGET_LIMITS);
      await reconnectPorts(this.#reconnecting, driver, removeConnections);
      this.#reconnecting = [];
    } catch (error) {
      log.error({ error }, 'connections from before a filter could not be ended');
      problems.push(`connections from before a filter stay: ${describeKernelError(error)}`);
    }
    this.#problems = problems;
    void this.#servers.change(removed, added);
  }

  stop(): void {
    this.#servers.stop();
  }

  #prepareKernel(): string[] {
    const { sysctls } = this.#options;
    const problems: string[] = [];
    const set = (name: string, value: number, good: (now: number) => boolean): void => {
      const now = sysctls.read(name);
      if (now !== null && good(now)) return;
      try {
        sysctls.write(name, value);
      } catch {
        problems.push(
          `the SYN proxy needs ${name.replaceAll('/', '.')} = ${value}, and it cannot be set`,
        );
      }
    };
    set(STRICT.name, STRICT.value, (now) => now === STRICT.value);
    set(COOKIES.name, COOKIES.least, (now) => now >= COOKIES.least);
    return problems;
  }
}
