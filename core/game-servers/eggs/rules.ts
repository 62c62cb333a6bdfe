/** Creates the matcher of a regular expression, or null for an unsupported one. Must run in bounded time. */
export type PatternCompiler = (
  pattern: string,
  flags: string,
) => ((text: string) => boolean) | null;

/** Checks a value against the argument of its rule. Returns null, or the requirement that it violates. */
type Rule = (value: string, argument: string, context: Context) => string | null;
interface Context {
  /** Sizes apply to the number if a rule requires a number, otherwise to the text. */
  readonly isNumber: boolean;
  readonly compile: PatternCompiler | null;
}

/** The rules of https://laravel.com/docs/validation#available-validation-rules that eggs use. */
const RULES: Readonly<Record<string, Rule>> = {
  required: (value) => (value === '' ? 'must not be empty' : null),
  filled: (value) => (value === '' ? 'must not be empty' : null),
  string: () => null,
  integer: (value) => (isWhole(value) ? null : 'must be a whole number'),
  int: (value) => (isWhole(value) ? null : 'must be a whole number'),
  numeric: (value) => (isNumeric(value) ? null : 'must be a number'),
  boolean: (value) => (BOOLEANS.has(value) ? null : 'must be 0, 1, true or false'),
  bool: (value) => (BOOLEANS.has(value) ? null : 'must be 0, 1, true or false'),
  in: (value, argument) => (listed(argument).includes(value) ? null : `must be one of ${argument}`),
  not_in: (value, argument) =>
    listed(argument).includes(value) ? `must be none of ${argument}` : null,
  min: (value, argument, context) => sized(value, context, Number(argument), Infinity),
  max: (value, argument, context) => sized(value, context, -Infinity, Number(argument)),
  size: (value, argument, context) => sized(value, context, Number(argument), Number(argument)),
  between: (value, argument, context) => {
    const [low, high] = listed(argument).map(Number);
    return sized(value, context, low ?? Number.NaN, high ?? Number.NaN);
  },
  gt: (value, argument, context) => compared(value, argument, context, 'above', (a, b) => a > b),
  gte: (value, argument, context) =>
    compared(value, argument, context, 'at least', (a, b) => a >= b),
  lt: (value, argument, context) => compared(value, argument, context, 'below', (a, b) => a < b),
  lte: (value, argument, context) =>
    compared(value, argument, context, 'at most', (a, b) => a <= b),
  digits: (value, argument) =>
    /^\d+$/.test(value) && value.length === Number(argument)
      ? null
      : `must have ${argument} digits`,
  digits_between: (value, argument) => {
    const [low = 0, high = 0] = listed(argument).map(Number);
    const fits = /^\d+$/.test(value) && value.length >= low && value.length <= high;
    return fits ? null : `must have ${low} to ${high} digits`;
  },
  alpha: (value) => (/^[\p{L}\p{M}]+$/u.test(value) ? null : 'must be letters'),
  alpha_num: (value) => (/^[\p{L}\p{M}\p{N}]+$/u.test(value) ? null : 'must be letters and digits'),
  alpha_dash: (value) =>
    /^[\p{L}\p{M}\p{N}_-]+$/u.test(value) ? null : 'must be letters, digits, - and _',
  regex: (value, argument, { compile }) => matched(value, argument, compile, true),
  not_regex: (value, argument, { compile }) => matched(value, argument, compile, false),
  starts_with: (value, argument) =>
    listed(argument).some((one) => value.startsWith(one)) ? null : `must begin with ${argument}`,
  ends_with: (value, argument) =>
    listed(argument).some((one) => value.endsWith(one)) ? null : `must end with ${argument}`,
  url: (value) => (URL.canParse(value) ? null : 'must be a URL'),
};

/** Rules that change the meaning of others and reject nothing themselves. */
const READING = new Set(['nullable', 'sometimes', 'bail', 'present', '']);
const BOOLEANS: ReadonlySet<string> = new Set(['0', '1', 'true', 'false']);
const NUMBERS: ReadonlySet<string> = new Set(['integer', 'int', 'numeric']);
/** The maximum length, so that every rule is cheap. */
const MAX_RULE = 4096;

/**
 * Splits `required|in:a,b` into rules, at bars and at `;;`, as the rules of some panels are written. A `regex:` may
 * contain both: it continues to its closing delimiter.
 */
export function parseRules(text: string): readonly string[] {
  const rules: string[] = [];
  for (let at = 0; at <= text.length; ) {
    const end = ruleEnd(text, at);
    const rule = text.slice(at, end).trim();
    if (rule !== '') rules.push(rule);
    at = end + (text.startsWith(';;', end) ? 2 : 1);
  }
  return rules;
}

/** The rules that are never checked, without duplicates. */
export function unknownRules(rules: readonly string[]): readonly string[] {
  const names = rules.map((rule) => ruleName(rule));
  return [...new Set(names)].filter((name) => !READING.has(name) && !Object.hasOwn(RULES, name));
}

/**
 * The first violated rule as a text that follows the name of the variable, or null. Unknown rules accept every value.
 */
export function breach(
  value: string,
  rules: readonly string[],
  compile: PatternCompiler | null,
): string | null {
  const required = rules.some((rule) => ruleName(rule) === 'required');
  if (value === '' && !required) return null;
  const context = { isNumber: rules.some((rule) => NUMBERS.has(ruleName(rule))), compile };
  for (const rule of rules) {
    if (rule.length > MAX_RULE) continue;
    const name = ruleName(rule);
    const check = Object.hasOwn(RULES, name) ? RULES[name] : undefined;
    const broken = check?.(value, rule.slice(name.length + 1), context) ?? null;
    if (broken !== null) return broken;
  }
  return null;
}

export function ruleName(rule: string): string {
  const colon = rule.indexOf(':');
  return (colon === -1 ? rule : rule.slice(0, colon)).trim().toLowerCase();
}

/** PHP delimiters: a character, the pattern, the same character (or the closing bracket), flags. */
const DELIMITED = /^(?:not_)?regex:\s*([^\w\s\\])/;
const CLOSING: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}', '<': '>' };

function ruleEnd(text: string, from: number): number {
  const plain = separatorAfter(text, from);
  const open = DELIMITED.exec(text.slice(from, from + 16));
  if (open === null) return plain;
  const mark = open[1] as string;
  const close = CLOSING[mark] ?? mark;
  for (let at = from + open[0].length; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === close && /^[a-zA-Z]*\s*(?:\||;;|$)/.test(text.slice(at + 1, at + 16))) {
      return separatorAfter(text, at + 1);
    }
  }
  return plain;
}

function separatorAfter(text: string, from: number): number {
  const separator = /\||;;/g;
  separator.lastIndex = from;
  return separator.exec(text)?.index ?? text.length;
}

function matched(
  value: string,
  argument: string,
  compile: PatternCompiler | null,
  wanted: boolean,
): string | null {
  const pattern = parsePattern(argument);
  const test = pattern === null ? null : (compile?.(pattern.source, pattern.flags) ?? null);
  if (test === null || test(value) === wanted) return null;
  return wanted ? `must match ${argument}` : `must not match ${argument}`;
}

/** Parses the PHP form `/source/flags`. Returns null for any other form. */
export function parsePattern(
  argument: string,
): { readonly source: string; readonly flags: string } | null {
  const text = argument.trim();
  const mark = text[0] ?? '';
  if (!/^[^\w\s\\]$/.test(mark)) return null;
  const end = text.lastIndexOf(CLOSING[mark] ?? mark);
  if (end < 1) return null;
  const flags = text.slice(end + 1);
  return /^[imsuxADU]*$/.test(flags) ? { source: text.slice(1, end), flags } : null;
}

/** A list as CSV, as Laravel reads it: in quotes a comma is text, and two quotes are one. */
export function listed(argument: string): string[] {
  const items: string[] = [];
  const form = /\s*(?:"((?:[^"]|"")*)"([^,]*)|([^,]*))(,|$)/gy;
  for (;;) {
    const [, quoted, behind = '', bare = '', end = ''] = form.exec(argument) ?? [];
    items.push(quoted === undefined ? bare.trim() : quoted.replaceAll('""', '"') + behind.trim());
    if (end === '') return items;
  }
}

function sized(value: string, { isNumber }: Context, low: number, high: number): string | null {
  if (Number.isNaN(low) || Number.isNaN(high)) return null;
  const size = isNumber ? Number(value) : Array.from(value).length;
  if (size >= low && size <= high) return null;
  const unit = isNumber ? '' : ' characters';
  if (low === high) return `must ${isNumber ? 'be' : 'have'} ${low}${unit}`;
  if (low === -Infinity) return `must ${isNumber ? 'be' : 'have'} at most ${high}${unit}`;
  if (high === Infinity) return `must ${isNumber ? 'be' : 'have'} at least ${low}${unit}`;
  return `must ${isNumber ? 'be' : 'have'} ${low} to ${high}${unit}`;
}

/** With a number; the name of another field, as Laravel allows, is not checked. */
function compared(
  value: string,
  argument: string,
  { isNumber }: Context,
  words: string,
  holds: (size: number, limit: number) => boolean,
): string | null {
  if (!isNumeric(argument)) return null;
  const size = isNumber ? Number(value) : Array.from(value).length;
  if (holds(size, Number(argument))) return null;
  return isNumber ? `must be ${words} ${argument}` : `must have ${words} ${argument} characters`;
}

function isWhole(value: string): boolean {
  return /^[+-]?\d{1,18}$/.test(value);
}

function isNumeric(value: string): boolean {
  return /^[+-]?(?:\d{1,18}(?:\.\d{0,18})?|\.\d{1,18})(?:[eE][+-]?\d{1,3})?$/.test(value);
}
