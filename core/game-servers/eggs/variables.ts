import type { EggVariable } from '../egg.ts';
import { breach, type PatternCompiler } from './rules.ts';

/** Set for every server; an egg's variable of this name is never used, and nobody can give it. */
export const RESERVED_VARIABLES = [
  'STARTUP',
  'SERVER_MEMORY',
  'SERVER_IP',
  'SERVER_PORT',
  'P_SERVER_UUID',
  'P_SERVER_LOCATION',
  'P_SERVER_ALLOCATION_LIMIT',
  'TZ',
] as const;
const RESERVED: ReadonlySet<string> = new Set(RESERVED_VARIABLES);

export interface VariableProblem {
  readonly env: string;
  /** A sentence. */
  readonly detail: string;
}

const MAX_VALUE = 16_384;

/** Whether an environment can have it: letters, digits and underscores. */
export function isVariableName(name: string): boolean {
  return /^\w{1,191}$/.test(name) && name !== '__proto__';
}

export function isReserved(name: string): boolean {
  return RESERVED.has(name);
}

/**
 * What is wrong with the values that a server is given, against its egg's rules. Empty: nothing. A default is taken
 * as it is, but an empty one that is required must be given. `compile` makes the matchers of `regex:` rules; without
 * it they are not looked at (the node, which has one, looks again).
 */
export function checkVariables(
  variables: readonly EggVariable[],
  given: Readonly<Record<string, string>>,
  compile: PatternCompiler | null,
): readonly VariableProblem[] {
  const problems: VariableProblem[] = [];
  const known = new Set(variables.map(({ env }) => env));
  for (const env of Object.keys(given)) {
    if (isReserved(env)) problems.push({ env, detail: `${env} is set for every server.` });
    else if (!known.has(env)) problems.push({ env, detail: `The egg has no variable ${env}.` });
  }
  for (const { env, name, defaultValue, rules } of variables) {
    const value = Object.hasOwn(given, env) ? given[env] : undefined;
    const detail = problemOf(value, defaultValue, rules, compile);
    if (detail !== null) problems.push({ env, detail: `${env} (${name}) ${detail}.` });
  }
  return problems;
}

function problemOf(
  value: string | undefined,
  defaultValue: string,
  rules: readonly string[],
  compile: PatternCompiler | null,
): string | null {
  if (value === undefined) {
    return defaultValue === '' && rules.includes('required')
      ? 'must be given: it has no default'
      : null;
  }
  if (value.length > MAX_VALUE) return `has more than ${MAX_VALUE} characters`;
  if (/[\p{Cc}\u2028\u2029]/u.test(value)) {
    return 'has a control character: a value is one line of text';
  }
  return breach(value, rules, compile);
}

/** Every variable of the egg with the value it has for this server; what is given but not known is left out. */
export function variableValues(
  variables: readonly EggVariable[],
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const values = variables
    .filter(({ env }) => !isReserved(env))
    .map(({ env, defaultValue }) => {
      const own = Object.hasOwn(given, env) ? given[env] : undefined;
      return [env, own ?? defaultValue] as const;
    });
  return Object.fromEntries(values);
}
