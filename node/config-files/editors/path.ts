import type { Edit } from './edit.ts';

/** A step into a document: a key, a list index, or all elements. */
export type Step =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'every' };

type NamedStep = Exclude<Step, { readonly kind: 'every' }>;

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

/** The problem of an edit without a condition that no `*` leads anywhere. */
export function fitsNothing({ match }: Edit): string {
  return `"${match}" fits nothing.`;
}

/** In a list, a key of digits is an index: other panels know `listeners.0.host` only. */
export function listIndex(step: NamedStep): NamedStep {
  if (step.kind !== 'key' || !/^(?:0|[1-9]\d{0,3})$/.test(step.key)) return step;
  return { kind: 'index', index: Number(step.key) };
}

/** The notations of true and false: those of JSON, of rules of panels (1 and 0), and of YAML 1.1. */
const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true,
  false: false,
  1: true,
  0: false,
  yes: true,
  no: false,
  on: true,
  off: false,
};
const WHOLE = /^(?:0|-?[1-9]\d{0,14})$/;
/** No leading zeros: those are codes, such as a PIN. */
const NUMBER = /^[-+]?(?:(?:0|[1-9]\d{0,39})(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][-+]?\d{1,3})?$/;

/** A number in the notation of JSON, with all its digits. */
export class NumberText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Converts a value to the type of the value it replaces, if that is possible: a boolean stays a boolean, a number a
 * number, text text. Where nothing stands, whole numbers become numbers, as with Wings (`"25565"` in an egg is the port
 * 25565); fractions do not, because they may be versions. `notation` is that of a current number: 1.0 becomes 2.0.
 */
export function typed(
  value: string | number | boolean,
  current: unknown,
  notation = '',
): string | NumberText | boolean {
  if (typeof current === 'boolean') {
    const text = String(value).toLowerCase();
    if (Object.hasOwn(BOOLEANS, text)) return BOOLEANS[text] === true;
  }
  if (typeof value === 'boolean') return value;
  if (typeof value === 'string') {
    if (typeof current === 'string') return value;
    const isNew = typeof current === 'number' ? isNumber(value) : WHOLE.test(value);
    if (!isNew) return value;
  }
  const text = jsonNumber(String(value));
  const isFraction = /^[-+]?[\d_]*\.[\d_]*(?:[eE]|$)/.test(notation);
  return new NumberText(isFraction && /^-?\d+$/.test(text) ? `${text}.0` : text);
}

function isNumber(text: string): boolean {
  return NUMBER.test(text) && Number.isFinite(Number(text));
}

/** `+1`, `.5` and `2.` in the notation of JSON. */
function jsonNumber(text: string): string {
  return text
    .replace(/^\+/, '')
    .replace(/^(-?)\./, '$10.')
    .replace(/\.(?=$|[eE])/, '');
}
