import { setTimeout as delay } from 'node:timers/promises';
import type { Engine } from './engine.ts';

const LOOK_EVERY_MS = 100;

/** Ends every instance: asked to first, killed after `graceMs`. For an engine whose instances nobody looks after else. */
export async function endAll(engine: Engine, graceMs: number): Promise<void> {
  const running = async () =>
    (await engine.list()).filter(({ status }) => status === 'running' || status === 'paused');
  for (const { uuid } of await running()) await engine.signal(uuid, 'SIGTERM');
  const deadline = performance.now() + graceMs;
  while (performance.now() < deadline) {
    if ((await running()).length === 0) return;
    await delay(LOOK_EVERY_MS);
  }
  for (const { uuid } of await running()) await engine.kill(uuid);
}
