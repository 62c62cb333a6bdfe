import type { Usage } from '../../engine.ts';
import type { DockerClient } from '../api/client.ts';
import { readJsonLines } from '../api/json-lines.ts';

/** The used fields of a message of `GET /containers/{id}/stats`. */
export interface StatsJson {
  readonly read: string;
  readonly cpu_stats: { readonly cpu_usage: { readonly total_usage: number } };
  readonly memory_stats: {
    readonly usage?: number;
    /** The page cache is `total_inactive_file` in cgroup v1, `inactive_file` in v2. */
    readonly stats?: Readonly<Record<string, number>>;
  };
  readonly networks?: Readonly<
    Record<string, { readonly rx_bytes: number; readonly tx_bytes: number }>
  >;
}

/** Returns null for the first message, and for a container that has ended. */
export function parseUsage(before: StatsJson | null, now: StatsJson): Usage | null {
  const { usage, stats = {} } = now.memory_stats;
  if (before === null || usage === undefined) return null;
  const elapsedNs = (Date.parse(now.read) - Date.parse(before.read)) * 1e6;
  if (!(elapsedNs > 0)) return null;
  const usedNs = now.cpu_stats.cpu_usage.total_usage - before.cpu_stats.cpu_usage.total_usage;
  const networks = Object.values(now.networks ?? {});
  // In v1, only `total_inactive_file` includes the child groups.
  const cache = stats['total_inactive_file'] ?? stats['inactive_file'] ?? 0;
  return {
    memoryBytes: Math.max(0, usage - cache),
    cpuPercent: Math.round(Math.max(0, (usedNs / elapsedNs) * 100) * 1000) / 1000,
    networkRxBytes: networks.reduce((sum, one) => sum + one.rx_bytes, 0),
    networkTxBytes: networks.reduce((sum, one) => sum + one.tx_bytes, 0),
  };
}

/** Keeps Docker's stream open, because a single request takes a second. Ends silently with the container. */
export function watchContainerUsage(
  client: DockerClient,
  container: string,
  listener: (usage: Usage) => void,
): () => void {
  const stopping = new AbortController();
  const watch = async (): Promise<void> => {
    const path = `/containers/${container}/stats`;
    const stream = await client.stream('GET', path, {
      query: { stream: 'true' },
      signal: stopping.signal,
    });
    try {
      let before: StatsJson | null = null;
      for await (const value of readJsonLines(stream)) {
        if (stopping.signal.aborted) return;
        const now = value as StatsJson;
        const usage = parseUsage(before, now);
        before = now;
        if (usage !== null) listener(usage);
      }
    } finally {
      stream.destroy();
    }
  };
  // The end of it says nothing: events say what became of the container.
  watch().catch(() => undefined);
  return () => stopping.abort();
}
