import type { ServerResources } from '@portcullis/core/game-servers/power.ts';
import type { Instance, Usage } from '../engine/engine.ts';

const MIB = 1024 * 1024;

/** What is known of a server now; 0 for what nothing runs that could use it. */
export interface Known {
  readonly usage: Usage | null;
  readonly instance: Instance | null;
  readonly diskBytes: number;
  /** Of its assignment: the limit until the engine has told the one in force. */
  readonly memoryMib: number;
  readonly nowMs: number;
}

export function resourcesOf({
  usage,
  instance,
  diskBytes,
  memoryMib,
  nowMs,
}: Known): ServerResources {
  const startedAtMs = isAlive(instance) ? instance?.startedAtMs : null;
  return {
    memoryBytes: usage?.memoryBytes ?? 0,
    memoryLimitBytes: usage?.memoryLimitBytes ?? memoryMib * MIB,
    cpuAbsolute: usage?.cpuPercent ?? 0,
    diskBytes,
    networkRxBytes: usage?.networkRxBytes ?? 0,
    networkTxBytes: usage?.networkTxBytes ?? 0,
    uptimeMs: Math.max(0, Math.round(nowMs - (startedAtMs ?? nowMs))),
  };
}

export function isAlive(instance: Instance | null): boolean {
  return instance?.status === 'running' || instance?.status === 'paused';
}
