interface Happening {
  readonly kind: string;
  readonly target: string;
}

/** The keys of the queries that an event makes stale; `[]` is every query. */
export function staleQueries({ kind, target }: Happening): readonly (readonly string[])[] {
  // Events were missed.
  if (kind === 'gap') return [[]];
  const area = kind.slice(0, kind.indexOf('.'));
  if (area === 'server') return [['servers'], ['server', target]];
  if (area === 'attack') return [['attacks'], ['attack']];
  if (area === 'write' || area === 'propagation') return [['addresses'], ['address', target]];
  return [];
}
