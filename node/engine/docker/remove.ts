import { setTimeout as delay } from 'node:timers/promises';
import { EngineError } from '../engine.ts';
import type { DockerClient } from './client.ts';

const REMOVE_MS = 60_000;
const ATTEMPTS = 20;
const AGAIN_MS = 100;

/** Whatever it does, it is gone then. No-op when it is gone already. */
export async function removeContainer(client: DockerClient, nameOrId: string): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const { status } = await client.call('DELETE', `/containers/${nameOrId}`, {
      query: { force: 'true', v: 'true' },
      expected: [404, 409],
      limitMs: REMOVE_MS,
    });
    if (status !== 409) return;
    // Somebody else removes it now, which Docker has no way to wait for.
    await delay(AGAIN_MS);
  }
  throw new EngineError('refused', 'Docker does not come to an end with removing the container.');
}
