/**
 * The limits of an organisation. Each is a column of its name, a field of the file, of requests and of answers, and a field
 * of the portal's form, which reads this.
 */
export const LIMITS = {
  rules_per_ip: { title: 'Rules per address', minimum: 0, maximum: 100_000, default: 100 },
  filters_per_ip: { title: 'Filters per address', minimum: 0, maximum: 100_000, default: 25 },
  max_ports_per_request: { title: 'Ports per request', minimum: 1, maximum: 65_535, default: 101 },
  attack_history_days: { title: 'Attack history, days', minimum: 1, maximum: 36_500, default: 90 },
  configured_addresses: {
    title: 'Configured addresses',
    minimum: 0,
    maximum: 2_147_483_647,
    default: 10_000,
  },
  requests_per_minute: {
    title: 'Requests per minute, of each key',
    minimum: 1,
    maximum: 2_147_483_647,
    default: 600,
  },
  own_servers: {
    title: 'Servers that owners make',
    minimum: 0,
    maximum: 100_000,
    default: 0,
  },
  own_servers_memory: {
    title: 'Memory of those together, MiB',
    minimum: 0,
    maximum: 2_147_483_647,
    default: 0,
  },
  own_servers_cpu: {
    title: 'Processor of those together, % of a core',
    minimum: 0,
    maximum: 2_147_483_647,
    default: 0,
  },
  own_servers_disk: {
    title: 'Disk of those together, MiB',
    minimum: 0,
    maximum: 2_147_483_647,
    default: 0,
  },
} as const;

export type LimitName = keyof typeof LIMITS;

/** The limits of an organisation that sets none. */
export const DEFAULT_LIMITS = Object.fromEntries(
  Object.entries(LIMITS).map(([name, { default: value }]) => [name, value]),
) as Readonly<Record<LimitName, number>>;
