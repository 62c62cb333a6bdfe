import { setTimeout as delay } from 'node:timers/promises';
import type { EngineEvent } from '../../engine.ts';
import type { DockerClient } from './client.ts';
import { readJsonLines } from './json-lines.ts';
import { type Names, ROLE_LABEL, SERVER_LABEL } from '../labels.ts';

/** The used fields of a message of `GET /events`. */
interface EventJson {
  readonly Actor?: { readonly Attributes?: Readonly<Record<string, string>> };
}

const CHANGES = ['start', 'pause', 'unpause', 'die', 'destroy'];
const RETRY_MS = { first: 100, most: 2_000 };
const PING_EVERY_MS = 5_000;

/**
 * Follows Docker's events until the returned function is called. The stream has no keepalive, so Docker is pinged: if it
 * does not answer, `lost` is reported and the stream is opened again, which reports `gap`.
 */
export function watchEvents(
  client: DockerClient,
  names: Names,
  listener: (event: EngineEvent) => void,
): () => void {
  const stopping = new AbortController();
  const follow = async (): Promise<void> => {
    let retryMs: number = RETRY_MS.first;
    let lost = false;
    while (!stopping.signal.aborted) {
      try {
        await followOnce(client, names, stopping.signal, (event) => {
          retryMs = RETRY_MS.first;
          lost = false;
          listener(event);
        });
      } catch (error) {
        if (stopping.signal.aborted) return;
        client.forgetVersion();
        if (!lost) listener({ kind: 'lost', reason: (error as Error).message });
        lost = true;
      }
      await delay(retryMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      retryMs = Math.min(RETRY_MS.most, retryMs * 2);
    }
  };
  follow().catch(() => undefined);
  return () => stopping.abort();
}

/** Runs until the stream ends or Docker does not answer a ping; always rejects. */
async function followOnce(
  client: DockerClient,
  names: Names,
  stopping: AbortSignal,
  listener: (event: EngineEvent) => void,
): Promise<never> {
  const unresponsive = new AbortController();
  const signal = AbortSignal.any([stopping, unresponsive.signal]);
  // Docker answers before it subscribes; `since` includes the events in between. `gap` makes the agent inspect for the
  // earlier ones.
  const since = (Date.now() / 1000).toFixed(9);
  const filters = JSON.stringify({
    type: ['container'],
    event: CHANGES,
    ...names.filter({ [ROLE_LABEL]: 'game' }),
  });
  const stream = await client.stream('GET', '/events', { query: { since, filters }, signal });
  let reason: unknown = new Error('Docker ended its events.');
  const pinging = setInterval(() => {
    client.ping(PING_EVERY_MS).catch((error: unknown) => {
      reason = error;
      unresponsive.abort();
    });
  }, PING_EVERY_MS);
  listener({ kind: 'gap' });
  try {
    for await (const value of readJsonLines(stream)) {
      if (stopping.aborted) break;
      const { Actor: actor } = value as EventJson;
      const uuid = actor?.Attributes?.[SERVER_LABEL];
      if (uuid !== undefined) listener({ kind: 'changed', uuid });
    }
  } catch (error) {
    if (!unresponsive.signal.aborted) reason = error;
  } finally {
    clearInterval(pinging);
    stream.destroy();
  }
  throw reason;
}
