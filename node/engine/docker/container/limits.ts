import type { ServerLimits } from '@portcullis/core/game-servers/power.ts';

const MIB = 1024 * 1024;
const CPU_PERIOD_US = 100_000;

/**
 * What a container may take beyond the game's own limit, which is what its startup hands to a Java machine as heap:
 * the machine itself needs room beside it. As Wings has it, so that community images live as they do there.
 */
const OVERHEAD: readonly (readonly [upToMib: number, factor: number])[] = [
  [2048, 1.15],
  [4096, 1.1],
  [Number.POSITIVE_INFINITY, 1.05],
];

/** Limits as Docker's `HostConfig` has them; 0 is no limit. The kernel keeps all of them. */
export function renderLimits(limits: ServerLimits, pidsLimit: number): Record<string, unknown> {
  return {
    ...(limits.memory > 0 ? memoryOf(limits.memory) : {}),
    ...(limits.cpu > 0
      ? { CpuPeriod: CPU_PERIOD_US, CpuQuota: (limits.cpu * CPU_PERIOD_US) / 100 }
      : {}),
    PidsLimit: pidsLimit,
    // Open files are not limited here: an engine that may have fewer itself could start nothing.
    Ulimits: [
      { Name: 'core', Soft: 0, Hard: 0 },
      // No single file grows past the whole limit, however fast it is written; the sum is watched (node/disk).
      ...(limits.disk > 0
        ? [{ Name: 'fsize', Soft: limits.disk * MIB, Hard: limits.disk * MIB }]
        : []),
    ],
  };
}

/** What an install has at least, so that a small game's can unpack or compile; the same as Wings. */
const INSTALL_MEMORY_MIB = 1024;
const INSTALL_CPU_PERCENT = 100;

/** Limits of a server's install; its disk is the server's. */
export function installLimits({ memory, cpu, disk }: ServerLimits): ServerLimits {
  return {
    memory: memory === 0 ? 0 : Math.max(memory, INSTALL_MEMORY_MIB),
    cpu: cpu === 0 ? 0 : Math.max(cpu, INSTALL_CPU_PERCENT),
    disk,
  };
}

function memoryOf(memoryMib: number): Record<string, number> {
  const factor = OVERHEAD.find(([upToMib]) => memoryMib <= upToMib)?.[1] ?? 1;
  const bytes = Math.ceil(memoryMib * factor) * MIB;
  // As much memory with swap as without: none of it is swap.
  return { Memory: bytes, MemorySwap: bytes, MemoryReservation: memoryMib * MIB };
}
