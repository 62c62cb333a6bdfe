import { breach, listed, ruleName } from './rules.ts';

/** The input by which people give a value to a variable, as its rules say. */
export type VariableInput =
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
  /** The two values that the variable takes. */
  | { readonly kind: 'switch'; readonly on: string; readonly off: string }
  | (Bounds & { readonly kind: 'number'; readonly whole: boolean })
  | (Bounds & { readonly kind: 'text' });

/** The bounds of a number, or of the length of a text. */
interface Bounds {
  readonly least: number | null;
  readonly most: number | null;
}

/** Pairs of values that mean yes and no. */
const SWITCHES = [
  ['true', 'false'],
  ['1', '0'],
] as const;
/** More choices than these are not shown as a list. */
const MAX_CHOICES = 500;

/** The input of a variable; what its rules say beyond that is checked when it is sent. */
export function inputOf(rules: readonly string[], defaultValue: string): VariableInput {
  const found = new Map(rules.map((rule) => [ruleName(rule), rule.slice(rule.indexOf(':') + 1)]));
  const named = found.get('in');
  if (named !== undefined) return choiceOf(rules, listed(named));
  if (found.has('boolean') || found.has('bool')) return switchOf(defaultValue);
  const isWhole = found.has('integer') || found.has('int');
  const isNumber = isWhole || found.has('numeric');
  return isNumber
    ? { kind: 'number', whole: isWhole, ...boundsOf(found) }
    : { kind: 'text', ...boundsOf(found) };
}

function choiceOf(rules: readonly string[], all: readonly string[]): VariableInput {
  const choices = [...new Set(all)].filter((value) => breach(value, rules, null) === null);
  const pair = SWITCHES.find(
    (values) => choices.length === 2 && values.every((value) => choices.includes(value)),
  );
  if (pair !== undefined) return { kind: 'switch', on: pair[0], off: pair[1] };
  return choices.length > 0 && choices.length <= MAX_CHOICES
    ? { kind: 'choice', choices }
    : { kind: 'text', least: null, most: null };
}

/** The rule takes both spellings, so the default decides. */
function switchOf(defaultValue: string): VariableInput {
  const isWord = defaultValue === 'true' || defaultValue === 'false';
  const [on, off] = SWITCHES[isWord ? 0 : 1];
  return { kind: 'switch', on, off };
}

function boundsOf(found: ReadonlyMap<string, string>): Bounds {
  const [from, to] = listed(found.get('between') ?? '');
  const exactly = numberOf(found.get('size'));
  const low = numberOf(found.get('min')) ?? numberOf(found.get('gte')) ?? numberOf(from);
  const high = numberOf(found.get('max')) ?? numberOf(found.get('lte')) ?? numberOf(to);
  return { least: low ?? exactly, most: high ?? exactly };
}

function numberOf(text: string | undefined): number | null {
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : null;
}
