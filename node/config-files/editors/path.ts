/** A step into a document: a key, a place in a list, or every one of them. */
export type Step =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'every' };

const MAX_STEPS = 32;
/** A list never grows to it by an egg's mistake. */
const MAX_INDEX = 9999;

/**
 *     path = step *( "." step / "[" index "]" )
 *     step = "*" / key                            in a key, ~1 is a dot and ~0 a tilde
 *
 * Null: it is none.
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
 * What type a value should have in a document: that of the value it replaces where there is one; else whole numbers
 * become numbers, as Wings has it (`"25565"` in an egg is the port 25565).
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
