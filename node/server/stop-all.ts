import { setTimeout as delay } from 'node:timers/promises';
import { endWithNode } from '@portcullis/core/game-servers/machine.ts';
import type { Engine } from '../engine/engine.ts';
import type { Journal } from '../journal/journal.ts';

const LOOK_EVERY_MS = 100;

/**
 * Ends every instance: asked to first, killed after `graceMs`. For an engine whose instances nobody looks after else,
 * and after its agent. Kept first: the agent that comes next starts them again, and takes none of it for a crash.
 */
export async function endAll(engine: Engine, journal: Journal, graceMs: number): Promise<void> {
  const running = async () =>
    (await engine.list()).filter(({ status }) => status === 'running' || status === 'paused');
  const records = journal.loadRecords();
  for (const { uuid } of await running()) {
    const kept = records.get(uuid);
    if (kept !== undefined) {
      await journal.saveRecord(uuid, { ...kept, machine: endWithNode(kept.machine) });
    }
    await engine.signal(uuid, 'SIGTERM');
  }
  const deadline = performance.now() + graceMs;
  while (performance.now() < deadline) {
    if ((await running()).length === 0) return;
    await delay(LOOK_EVERY_MS);
  }
  for (const { uuid } of await running()) await engine.kill(uuid);
}
