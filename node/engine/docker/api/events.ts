import { setTimeout as delay } from 'node:timers/promises';
import type { EngineEvent } from '../../engine.ts';
import type { DockerClient } from './client.ts';
import { readJsonLines } from './json-lines.ts';
import { type Names, ROLE_LABEL, SERVER_LABEL } from '../labels.ts';

/** The used fields of a message of `GET /events`. */
export interface EventJson {
  readonly Action: string;
  readonly Actor?: {
    readonly ID?: string;
    readonly Attributes?: Readonly<Record<string, string>>;
  };
}

const KINDS = { start: 'started', pause: 'paused', unpause: 'unpaused' } as const;
const RETRY_MS = { first: 100, most: 2_000 };
const PING_EVERY_MS = 5_000;

/** Converts Docker's events. Remembers which container ran out of memory, because its `die` event does not say so. */
export class EventReader {
  readonly #outOfMemory = new Set<string>();

  read({ Action: action, Actor: actor }: EventJson): EngineEvent | null {
    const uuid = actor?.Attributes?.[SERVER_LABEL];
    const container = actor?.ID;
    if (uuid === undefined || container === undefined) return null;
    switch (action) {
      case 'start':
      case 'pause':
      case 'unpause':
        return { kind: KINDS[action], uuid };
      case 'oom':
        this.#outOfMemory.add(container);
        return null;
      case 'die': {
        const exitCode = Number(actor?.Attributes?.['exitCode'] ?? Number.NaN);
        const oomKilled = this.#outOfMemory.delete(container);
        return {
          kind: 'exited',
          uuid,
          exitCode: Number.isInteger(exitCode) ? exitCode : 255,
          oomKilled,
        };
      }
      case 'destroy':
        this.#outOfMemory.delete(container);
        return { kind: 'removed', uuid };
      default:
        return null;
    }
  }
}

/**
 * Follows Docker's events until the returned function is called. The stream has no keepalive, so Docker is pinged: if it
 * does not answer, `lost` is reported and the stream is opened again, which reports `gap`.
 */
export function watchEvents(
  client: DockerClient,
  names: Names,
  listener: (event: EngineEvent, container: string | null) => void,
): () => void {
  const stopping = new AbortController();
  const follow = async (): Promise<void> => {
    let retryMs: number = RETRY_MS.first;
    let lost = false;
    while (!stopping.signal.aborted) {
      try {
        await followOnce(client, names, stopping.signal, (event, container) => {
          retryMs = RETRY_MS.first;
          lost = false;
          listener(event, container);
        });
      } catch (error) {
        if (stopping.signal.aborted) return;
        client.forgetVersion();
        if (!lost) listener({ kind: 'lost', reason: (error as Error).message }, null);
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
  listener: (event: EngineEvent, container: string | null) => void,
): Promise<never> {
  const unresponsive = new AbortController();
  const signal = AbortSignal.any([stopping, unresponsive.signal]);
  // Docker answers before it subscribes; `since` includes the events in between. Earlier events are left out: `gap` makes
  // the agent inspect, and an old exit would look like a new one.
  const since = (Date.now() / 1000).toFixed(9);
  const filters = JSON.stringify({
    type: ['container'],
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
  const reader = new EventReader();
  listener({ kind: 'gap' }, null);
  try {
    for await (const value of readJsonLines(stream)) {
      if (stopping.aborted) break;
      const message = value as EventJson;
      const event = reader.read(message);
      if (event !== null) listener(event, message.Actor?.ID ?? null);
    }
  } catch (error) {
    if (!unresponsive.signal.aborted) reason = error;
  } finally {
    clearInterval(pinging);
    stream.destroy();
  }
  throw reason;
}
