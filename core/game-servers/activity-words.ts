/** Conditions of the request, which say nothing of what was done. */
const CONDITIONS: ReadonlySet<string> = new Set(['expected', 'format']);
/** Names of one list that are shown. */
const SHOWN = 3;
/** Fields that say that it was not done, or only in part: by SFTP a code, else a sentence. */
const NOT_DONE = { refused: 'refused', unconfirmed: 'not confirmed' } as const;

/** The words of an activity entry's detail: lines, names and paths, of a long list the first three. */
export function wordsOfActivity(detail: Readonly<Record<string, unknown>>): string[] {
  const { path, to, refused, unconfirmed, failed, ...rest } = detail;
  // The database sorts keys by length, which would put the target before the source.
  const ordered = { path, ...rest, to };
  const words = Object.entries(ordered).flatMap(([name, value]) =>
    CONDITIONS.has(name) ? [] : wordsOf(name, value, detail['of']),
  );
  const count = typeof failed === 'number' ? `${failed} ` : '';
  const why = Object.entries({ refused, unconfirmed }).flatMap(([name, value]) =>
    typeof value === 'string'
      ? [`(${count}${NOT_DONE[name as keyof typeof NOT_DONE]}: ${value})`]
      : [],
  );
  return [...words, ...why];
}

function wordsOf(name: string, value: unknown, of: unknown): string[] {
  if (typeof value === 'string') return [name === 'to' ? `→ ${value}` : value];
  if (!Array.isArray(value) || (name !== 'paths' && name !== 'moves')) return [];
  const names = value.slice(0, SHOWN).flatMap(nameOf);
  const more = (typeof of === 'number' ? of : value.length) - SHOWN;
  return [names.join(', '), ...(more > 0 ? [`and ${more} more`] : [])];
}

/** The path of an item, and for a move both. */
function nameOf(item: unknown): string[] {
  if (typeof item === 'string') return [item];
  if (typeof item !== 'object' || item === null) return [];
  const { from, to } = item as { readonly from?: unknown; readonly to?: unknown };
  return typeof from === 'string' && typeof to === 'string' ? [`${from} → ${to}`] : [];
}
