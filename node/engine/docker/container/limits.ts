import type { ServerLimits } from '@portcullis/core/game-servers/power.ts';

const MIB = 1024 * 1024;
const CPU_PERIOD_US = 100_000;

/**
 * Extra memory for a container: startups give the whole limit of a server to the Java heap, and the Java machine needs
 * memory beyond its heap. The factors are those of Wings, so that community images behave as they do there.
 */
const OVERHEAD: readonly (readonly [upToMib: number, factor: number])[] = [
  [2048, 1.15],
  [4096, 1.1],
  [Number.POSITIVE_INFINITY, 1.05],
];

/** Limits for Docker's `HostConfig`, enforced by the kernel; 0 is no limit. */
export function renderLimits(limits: ServerLimits, pidsLimit: number): Record<string, unknown> {
  return {
    ...(limits.memory > 0 ? memoryOf(limits.memory) : {}),
    ...(limits.cpu > 0
      ? { CpuPeriod: CPU_PERIOD_US, CpuQuota: (limits.cpu * CPU_PERIOD_US) / 100 }
      : {}),
    PidsLimit: pidsLimit,
    // Open files stay unlimited: an engine with a lower limit of its own could start no container.
    Ulimits: [
      { Name: 'core', Soft: 0, Hard: 0 },
      // No single file grows past the disk limit; the disk guard watches the sum.
      ...(limits.disk > 0
        ? [{ Name: 'fsize', Soft: limits.disk * MIB, Hard: limits.disk * MIB }]
        : []),
    ],
  };
}

/** The least that an install gets, so that a small server can unpack or compile; the same as Wings. */
const INSTALL_MEMORY_MIB = 1024;
const INSTALL_CPU_PERCENT = 100;

/** Limits of a server's install. */
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
  // MemorySwap includes Memory, so equal values allow no swap.
  return { Memory: bytes, MemorySwap: bytes, MemoryReservation: memoryMib * MIB };
}
