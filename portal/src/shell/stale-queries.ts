import { parseAddress } from '@portcullis/core/net/address.ts';

interface Happening {
  readonly kind: string;
  readonly target: string;
}

/** The first words of the keys that `staleQueries` names: events say nothing of other readings, which are read again at times. */
export const FOLLOWED: ReadonlySet<string> = new Set([
  'servers',
  'server',
  'attacks',
  'attack',
  'addresses',
  'address',
  'history',
  'groups',
  'geo-rules',
  'blocked-sources',
]);

/** The keys of the queries that an event makes stale; `[]` is every query. */
export function staleQueries({ kind, target }: Happening): readonly (readonly string[])[] {
  // Events were missed.
  if (kind === 'gap') return [[]];
  const area = kind.slice(0, kind.indexOf('.'));
  if (area === 'server') return [['servers'], ['server', target]];
  if (area === 'attack') return [['attacks'], ['attack']];
  if (area !== 'write' && area !== 'propagation') return [];
  if (parseAddress(target).ok) return [['addresses'], ['address', target], ['history', target]];
  // A group, a geo rule or a prefix: it may concern every address.
  return [['addresses'], ['address'], ['history'], ['groups'], ['geo-rules'], ['blocked-sources']];
}
