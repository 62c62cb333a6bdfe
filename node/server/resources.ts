import type { ServerResources } from '@portcullis/core/game-servers/power.ts';
import type { Instance, Usage } from '../engine/engine.ts';

const MIB = 1024 * 1024;

/** What is known of a server now. */
export interface Known {
  /** It was started, and its end was not seen yet. */
  readonly runs: boolean;
  /** As its instance was measured last; null: it was not yet. */
  readonly usage: Usage | null;
  readonly instance: Instance | null;
  /** null: its folder was not measured yet. */
  readonly diskBytes: number | null;
  /** As its operator gave it, whatever more an engine adds for what runs beside the game. */
  readonly memoryMib: number;
  readonly nowMs: number;
}

/** 0 for what nothing runs that could use it; null while something runs, or lies there, that nobody has measured. */
export function resourcesOf(known: Known): ServerResources | null {
  const { runs, instance, diskBytes, memoryMib, nowMs } = known;
  const usage = runs ? known.usage : NOTHING;
  if (usage === null || diskBytes === null) return null;
  const startedAtMs = runs && isAlive(instance) ? instance?.startedAtMs : null;
  return {
    memoryBytes: usage.memoryBytes,
    memoryLimitBytes: memoryMib * MIB,
    cpuAbsolute: usage.cpuPercent,
    diskBytes,
    networkRxBytes: usage.networkRxBytes,
    networkTxBytes: usage.networkTxBytes,
    uptimeMs: Math.max(0, Math.round(nowMs - (startedAtMs ?? nowMs))),
  };
}

const NOTHING: Usage = { memoryBytes: 0, cpuPercent: 0, networkRxBytes: 0, networkTxBytes: 0 };

export function isAlive(instance: Instance | null): boolean {
  return instance?.status === 'running' || instance?.status === 'paused';
}
