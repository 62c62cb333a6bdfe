import type { ServerState } from '@portcullis/core/game-servers/power.ts';
import type { ServerBuild } from '@portcullis/link/messages/node.ts';

/** After this time without a heartbeat the state of a server is unknown. */
const KNOWN_MS = 45_000;

interface Reported {
  readonly atMs: number;
  readonly counts: ReadonlyMap<ServerState, number>;
}

/** The number of servers by state, as last reported by nodes of this process. For metrics only. */
export class PowerStates {
  readonly #nodes = new Map<string, Reported>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  report(node: string, builds: readonly Pick<ServerBuild, 'power'>[]): void {
    const counts = new Map<ServerState, number>();
    for (const { power } of builds) counts.set(power, (counts.get(power) ?? 0) + 1);
    this.#nodes.set(node, { atMs: this.#nowMs(), counts });
  }

  /** Counts by node with a recent heartbeat. */
  read(): { readonly nodes: number; readonly servers: ReadonlyMap<ServerState, number> } {
    const servers = new Map<ServerState, number>();
    for (const [node, { atMs, counts }] of this.#nodes) {
      if (this.#nowMs() - atMs > KNOWN_MS) {
        this.#nodes.delete(node);
        continue;
      }
      for (const [state, count] of counts) servers.set(state, (servers.get(state) ?? 0) + count);
    }
    return { nodes: this.#nodes.size, servers };
  }
}
