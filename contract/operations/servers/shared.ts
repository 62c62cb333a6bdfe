import { RATE_HEADERS } from '../../endpoint.ts';

/** Operations on servers for their people. */
export const SERVERS = { tag: 'Game servers', flag: null } as const;

/** Reads, which are not sent again when nothing changed. */
export const SERVERS_READ = {
  ...SERVERS,
  method: 'GET',
  write: false,
  requestHeaders: ['If-None-Match'],
} as const;

/** Writes that are done once, however often they are sent. */
export const SERVERS_ONCE = {
  ...SERVERS,
  write: true,
  requestHeaders: ['Idempotency-Key'],
  idempotent: true,
} as const;

export const ONCE_HEADERS = [...RATE_HEADERS, 'Idempotency-Replayed?'] as const;
