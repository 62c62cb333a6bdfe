/** Servers that owners of an organisation may make or have made, with their memory, processor and disk together. */
export interface ServerAmounts {
  readonly servers: number;
  /** MiB. */
  readonly memory: number;
  /** Percent of one core. */
  readonly cpu: number;
  /** MiB. */
  readonly disk: number;
}

const NAMES = {
  servers: (count: number) => `${count} ${count === 1 ? 'server' : 'servers'}`,
  memory: (mib: number) => `${mib} MiB of memory`,
  cpu: (percent: number) => `${percent} % of a core`,
  disk: (mib: number) => `${mib} MiB of disk`,
} as const satisfies Record<keyof ServerAmounts, (amount: number) => string>;

const FIELDS = ['servers', 'memory', 'cpu', 'disk'] as const satisfies (keyof ServerAmounts)[];

/** The rest of a quota; never less than nothing. */
export function leftOf(quota: ServerAmounts, used: ServerAmounts): ServerAmounts {
  const left = (field: keyof ServerAmounts): number => Math.max(0, quota[field] - used[field]);
  return { servers: left('servers'), memory: left('memory'), cpu: left('cpu'), disk: left('disk') };
}

/** The parts of a quota that one more server passes, each with a sentence. Empty: it fits. */
export function passedBy(
  wanted: Omit<ServerAmounts, 'servers'>,
  quota: ServerAmounts,
  used: ServerAmounts,
): { readonly field: keyof ServerAmounts; readonly detail: string }[] {
  const left = leftOf(quota, used);
  const needed: ServerAmounts = { ...wanted, servers: 1 };
  return FIELDS.filter((field) => needed[field] > left[field]).map((field) => ({
    field,
    detail: `The quota has ${NAMES[field](left[field])} left of ${quota[field]}.`,
  }));
}
