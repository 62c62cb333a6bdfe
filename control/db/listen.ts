import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { DatabaseClient } from './client.ts';
import { connectionConfig } from './database.ts';

export type Channel =
  | 'portcullis_generation'
  | 'portcullis_access'
  | 'portcullis_nodes'
  | 'portcullis_enrolment'
  | 'portcullis_watch'
  | 'portcullis_holdings'
  | 'portcullis_collectors'
  | 'portcullis_events'
  | 'portcullis_webhooks'
  | 'portcullis_restored';

export interface Listener {
  /** Ends the connection; nothing is reported after it. */
  stop(): Promise<void>;
}

export interface ListenOptions {
  /** Called on every failed connection; a new one is tried automatically. */
  readonly onError?: (error: unknown) => void;
}

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;

/**
 * Listens to PostgreSQL notifications on its own connection and reconnects. Notifications during an outage are lost, so
 * after each connect every channel is reported once with the payload null.
 */
export function listen(
  url: string,
  channels: readonly Channel[],
  onNotify: (channel: Channel, payload: string | null) => void,
  options: ListenOptions = {},
): Listener {
  const stopping = new AbortController();
  const running = keepListening();

  async function keepListening(): Promise<void> {
    let retryMs = FIRST_RETRY_MS;
    while (!stopping.signal.aborted) {
      try {
        await listenOnce(url, channels, onNotify, stopping.signal, () => {
          retryMs = FIRST_RETRY_MS;
        });
      } catch (error) {
        if (!stopping.signal.aborted) options.onError?.(error);
      }
      if (stopping.signal.aborted) return;
      await delay(retryMs, undefined, { signal: stopping.signal }).catch(() => {});
      retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
    }
  }

  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

/** Runs one connection until it ends. */
async function listenOnce(
  url: string,
  channels: readonly Channel[],
  onNotify: (channel: Channel, payload: string | null) => void,
  signal: AbortSignal,
  onConnected: () => void,
): Promise<void> {
  const client = new DatabaseClient(connectionConfig(url, 'portcullis listen'));
  const ended = new Promise<void>((resolve, reject) => {
    client.on('error', reject);
    client.on('end', resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  // Handled where it is awaited below; connect() reports its own failures.
  ended.catch(() => {});
  client.on('notification', ({ channel, payload }) => {
    const known = channels.find((c) => c === channel);
    if (known !== undefined && !signal.aborted) onNotify(known, payload ?? '');
  });
  try {
    await client.connect();
    for (const channel of channels) await client.query(`listen ${pg.escapeIdentifier(channel)}`);
    onConnected();
    for (const channel of channels) if (!signal.aborted) onNotify(channel, null);
    await ended;
  } finally {
    await client.end().catch(() => {});
  }
}
