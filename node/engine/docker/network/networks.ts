import { EngineError, type PublishedPort } from '../../engine.ts';
import type { DockerClient } from '../api/client.ts';
import { isMissingNetwork } from '../api/errors.ts';
import { Limiter } from '@portcullis/link/limiter.ts';
import type { HostGuard } from './guard.ts';
import {
  BRIDGE_PREFIX,
  KEEP_LABEL,
  type Names,
  ORGANISATION_LABEL,
  ROLE_LABEL,
} from '../labels.ts';

interface NetworkJson {
  readonly Options: Readonly<Record<string, string>> | null;
  readonly Labels: Readonly<Record<string, string>> | null;
}
/** The used fields of an entry of `GET /containers/json`. */
export interface ContainerListJson {
  readonly State: string;
  readonly Labels?: Readonly<Record<string, string>>;
  readonly Ports: readonly {
    readonly IP?: string;
    readonly PublicPort?: number;
    readonly Type: string;
  }[];
}

const BRIDGE_NAME = 'com.docker.network.bridge.name';
const SWEEP_MS = 15_000;
/** Longer than a stopping Docker takes, including ten seconds for its containers. */
const EMPTY_MS = 60_000;
/** Bounded, in case another program deletes the network again and again. */
const TRIES = 3;

/**
 * A bridge network for each organisation that has a server here, and the guard around all of them. Both are derived from
 * what Docker lists, never from memory, in serial order.
 */
export class Networks {
  readonly #client: DockerClient;
  readonly #names: Names;
  readonly #guard: HostGuard | null;
  readonly #holds = new Set<{
    readonly organisation: string;
    readonly ports: readonly PublishedPort[];
  }>();
  readonly #emptyMs: number;
  /** The time since when an organisation's network is empty, by `performance.now()`. */
  readonly #emptySince = new Map<string, number>();
  readonly #serial = new Limiter(1);
  #sweeping: NodeJS.Timeout | null = null;

  /** Makes an engine. Without a guard, nothing isolates servers from this host. */
  constructor(
    client: DockerClient,
    names: Names,
    guard: HostGuard | null,
    emptyMs: number = EMPTY_MS,
  ) {
    this.#client = client;
    this.#names = names;
    this.#guard = guard;
    this.#emptyMs = emptyMs;
  }

  get isGuarded(): boolean {
    return this.#guard !== null;
  }

  /**
   * Creates the organisation's network if it is missing, and applies the guard with these ports and those of running
   * servers. Both stay until the work has ended. Another program may delete a network that no container runs in
   * (`docker network prune`, an agent that stops): if Docker reports it missing, the network is created and the work is
   * run again, so the work must be repeatable.
   */
  async hold<T>(
    organisation: string,
    ports: readonly PublishedPort[],
    work: () => Promise<T>,
  ): Promise<T> {
    const hold = { organisation, ports };
    this.#holds.add(hold);
    this.#emptySince.delete(organisation);
    try {
      for (let tries = 1; ; tries += 1)
        try {
          await this.#ensure(organisation);
          return await work();
        } catch (error) {
          const missing = isMissingNetwork(error, this.#names.network(organisation));
          if (!missing || tries >= TRIES) throw error;
        }
    } finally {
      this.#holds.delete(hold);
    }
  }

  #ensure(organisation: string): Promise<void> {
    return this.#serial.run(async () => {
      const body = {
        Name: this.#names.network(organisation),
        Driver: 'bridge',
        CheckDuplicate: true,
        Labels: this.#names.labels(organisation),
        Options: { [BRIDGE_NAME]: this.#names.bridge(organisation) },
      };
      await this.#client.call('POST', '/networks/create', { body, expected: [409] });
      const bridges = await this.#bridges();
      if (!bridges.includes(this.#names.bridge(organisation))) {
        // Another program may have deleted it between the two calls: then this is refused with 404, and `hold` retries.
        await this.#client.call('GET', `/networks/${encodeURIComponent(body.Name)}`);
        throw new EngineError(
          'refused',
          `Somebody else made the Docker network ${body.Name}: remove it, and it is made as it must be.`,
        );
      }
      await this.#applyGuard(bridges);
    });
  }

  /**
   * Deletes the networks that have been empty for a while, and applies the guard. Not at once: a stopping Docker removes
   * containers first, and Docker 20 does not start again with a network whose deletion it did not finish.
   */
  sweep(): Promise<void> {
    return this.#serial.run(async () => {
      const containers = await this.#list(this.#names.filter(), true);
      const used = new Set([
        ...containers.map(({ Labels: labels }) => labels?.[ORGANISATION_LABEL]),
        ...[...this.#holds].map(({ organisation }) => organisation),
      ]);
      const now = performance.now();
      for (const { Labels: labels } of await this.#networks()) {
        const organisation = labels?.[ORGANISATION_LABEL] ?? '';
        const since = this.#emptySince.get(organisation) ?? now;
        if (used.has(organisation)) this.#emptySince.delete(organisation);
        else if (now - since < this.#emptyMs) this.#emptySince.set(organisation, since);
        else if (labels?.[KEEP_LABEL] === undefined) await this.#delete(organisation);
      }
      await this.#applyGuard(await this.#bridges());
    });
  }

  /** Sweeps periodically until `close`; this also restores the guard after a firewall flush. */
  startSweeping(): void {
    this.#sweeping ??= setInterval(() => {
      // Docker does not answer; the next sweep tries again.
      this.sweep().catch(() => undefined);
    }, SWEEP_MS).unref();
  }

  close(): void {
    if (this.#sweeping !== null) clearInterval(this.#sweeping);
  }

  async #delete(organisation: string): Promise<void> {
    this.#emptySince.delete(organisation);
    const path = `/networks/${encodeURIComponent(this.#names.network(organisation))}`;
    // 403: another program has put a container into it.
    await this.#client.call('DELETE', path, { expected: [403, 404] });
  }

  /** The bridge interfaces of this agent's networks. */
  async #bridges(): Promise<string[]> {
    return (await this.#networks())
      .map(({ Options: options }) => options?.[BRIDGE_NAME] ?? '')
      .filter((name) => name.startsWith(BRIDGE_PREFIX));
  }

  async #networks(): Promise<readonly NetworkJson[]> {
    const query = { filters: JSON.stringify(this.#names.filter()) };
    return (await this.#client.call('GET', '/networks', { query })).body as readonly NetworkJson[];
  }

  async #applyGuard(bridges: readonly string[]): Promise<void> {
    if (this.#guard === null) return;
    const running = await this.#list(this.#names.filter({ [ROLE_LABEL]: 'game' }), false);
    const starting = [...this.#holds].flatMap(({ ports }) => ports);
    const published = [...running.flatMap(portsOf), ...starting];
    await this.#guard.apply({ table: this.#names.table, bridges, published });
  }

  async #list(filter: object, all: boolean): Promise<readonly ContainerListJson[]> {
    const query = { all: String(all), filters: JSON.stringify(filter) };
    return (await this.#client.call('GET', '/containers/json', { query }))
      .body as readonly ContainerListJson[];
  }
}

function portsOf({ Ports: ports }: ContainerListJson): PublishedPort[] {
  return ports.flatMap(({ IP: ip, PublicPort: port, Type: protocol }) =>
    ip !== undefined && port !== undefined && (protocol === 'tcp' || protocol === 'udp')
      ? [{ ip, port, protocol }]
      : [],
  );
}
