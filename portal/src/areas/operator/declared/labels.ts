import { operatorDeclaredMessages as text } from '../../../messages/operator-declared.ts';
import type { Kind } from './kinds.ts';

/** The label of a field: of its kind and path, of its name, or its name as words. */
export function labelOf(kind: string, path: string): string {
  const name = namesIn(path).at(-1) ?? path;
  return text.labels[keyOf(kind, path)] ?? text.labels[name] ?? wordsOf(name);
}

/** The help of a field: that of the page, or the description of the schema, unless it only repeats the label. */
export function helpOf(kind: string, path: string, description: string): string | undefined {
  const help = text.help[keyOf(kind, path)] ?? description.replaceAll('`', '');
  return help === '' || help === `${labelOf(kind, path)}.` ? undefined : help;
}

function keyOf(kind: string, path: string): string {
  return [kind, ...namesIn(path)].join('.');
}

/** The names in a path, without the positions in lists. */
function namesIn(path: string): string[] {
  return path.split('.').filter((step) => !/^\d+$/.test(step));
}

/** The words of the list of a kind: those of the page, or of the contract. */
export function kindWords({ name, plural, about, schema }: Kind) {
  const things = wordsOf(plural.replaceAll(/(?<=.)[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
  const { description = '' } = schema as { readonly description?: string };
  return text.kinds[name] ?? text.wordsFor(things, description, about);
}

/** `sampling_rate` is `Sampling rate`. */
function wordsOf(name: string): string {
  const words = name.replaceAll('_', ' ');
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}
