import type { ServerResources } from '@portcullis/core/game-servers/power.ts';
import { type Instance, isAlive, type Usage } from '../engine/engine.ts';

const MIB = 1024 * 1024;

/** The facts that a server's resources are computed from. */
export interface ResourceFacts {
  /** An instance was started, and its end was not seen yet. */
  readonly runs: boolean;
  /** The last measurement of the instance; null if there was none. */
  readonly usage: Usage | null;
  readonly instance: Instance | null;
  /** Null until the folder was measured. */
  readonly diskBytes: number | null;
  /** The operator's limit, without what an engine adds to it. */
  readonly memoryMib: number;
  readonly nowMs: number;
}

/** Zero usage for a server that does not run; null while a running server or its folder was not measured. */
export function resourcesOf(facts: ResourceFacts): ServerResources | null {
  const { runs, instance, diskBytes, memoryMib, nowMs } = facts;
  const usage = runs ? facts.usage : NOTHING;
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
