import { setTimeout as delay } from 'node:timers/promises';
import { endWithNode } from '@portcullis/core/game-servers/machine.ts';
import { type Engine, isAlive } from '../engine/engine.ts';
import type { Journal } from '../journal/journal.ts';

const POLL_MS = 100;

/**
 * Stops every instance by SIGTERM, and kills those that still run after `graceMs`. Called after the agent has stopped.
 * The journal is written first, so that the next agent starts the servers again and counts no crash.
 */
export async function stopAll(engine: Engine, journal: Journal, graceMs: number): Promise<void> {
  const running = async () => (await engine.list()).filter(isAlive);
  const records = journal.loadRecords();
  for (const { uuid } of await running()) {
    const record = records.get(uuid);
    if (record !== undefined) {
      await journal.saveRecord(uuid, { ...record, machine: endWithNode(record.machine) });
    }
    await engine.signal(uuid, 'SIGTERM');
  }
  const deadline = performance.now() + graceMs;
  while (performance.now() < deadline) {
    if ((await running()).length === 0) return;
    await delay(POLL_MS);
  }
  for (const { uuid } of await running()) await engine.kill(uuid);
}
