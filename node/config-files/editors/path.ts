/** A step into a document: a key, a list index, or all elements. */
export type Step =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'every' };

const MAX_STEPS = 32;
/** Prevents a huge list through a mistake in an egg. */
const MAX_INDEX = 9999;

/**
 * Returns null for an invalid path.
 *
 *     path = step *( "." step / "[" index "]" )
 *     step = "*" / key        in a key, ~1 is a dot and ~0 a tilde
 */
export function parsePath(text: string): readonly Step[] | null {
  const steps: Step[] = [];
  for (const part of text.split('.')) {
    const [, name = '', indices = ''] = /^(.*?)((?:\[\d{1,4}\])*)$/s.exec(part) ?? [];
    if (name === '*') steps.push({ kind: 'every' });
    else if (name !== '') {
      steps.push({ kind: 'key', key: name.replaceAll('~1', '.').replaceAll('~0', '~') });
    } else if (indices === '') return null;
    for (const [, index] of indices.matchAll(/\[(\d+)\]/g)) {
      if (Number(index) > MAX_INDEX) return null;
      steps.push({ kind: 'index', index: Number(index) });
    }
  }
  return steps.length <= MAX_STEPS ? steps : null;
}

/**
 * Converts a value to the type of the value it replaces. A new value that is a whole number becomes a number, as with
 * Wings (`"25565"` in an egg is the port 25565).
 */
export function typed(
  value: string | number | boolean,
  current: unknown,
): string | number | boolean {
  if (typeof value !== 'string') return value;
  if (typeof current === 'string') return value;
  if (typeof current === 'boolean' && (value === 'true' || value === 'false')) {
    return value === 'true';
  }
  return /^(?:0|-?[1-9]\d{0,14})$/.test(value) ? Number(value) : value;
}
