import type { EggVariable } from '../egg.ts';
import { breach, type PatternCompiler } from './rules.ts';

/** Set for every server. A variable of an egg with this name is ignored and cannot be set. */
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

/** Whether the name is valid in an environment: letters, digits and underscores. */
export function isVariableName(name: string): boolean {
  return /^\w{1,191}$/.test(name) && name !== '__proto__';
}

export function isReserved(name: string): boolean {
  return RESERVED.has(name);
}

/**
 * Checks the values of a server against the rules of its egg and returns the problems. A default is not checked, but an
 * empty default of a required variable needs a value. `compile` creates the matchers of `regex:` rules; without it they
 * are skipped (the node has one and checks again).
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

/** Every variable of the egg with its value for this server; unknown given values are omitted. */
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
