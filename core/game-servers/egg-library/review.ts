import type { Egg } from '../egg.ts';
import type { PatternCompiler } from '../eggs/rules.ts';
import { parsePattern, unknownRules } from '../eggs/rules.ts';
import { unknownNames } from '../eggs/templates.ts';
import { RESERVED_VARIABLES } from '../eggs/variables.ts';

/**
 * Reports content of an egg without the intended effect: unknown templates, unchecked rules, and with `compile`
 * expressions that RE2 rejects. None of it prevents a start.
 */
export function reviewEgg(egg: Egg, compile: PatternCompiler | null): readonly string[] {
  return [
    ...reviewTemplates(egg),
    ...reviewRules(egg, compile),
    ...(compile === null ? [] : reviewPatterns(egg, compile)),
  ];
}

function reviewTemplates(egg: Egg): string[] {
  const variables = new Set([...egg.variables.map(({ env }) => env), ...RESERVED_VARIABLES]);
  const startup = unknownNames(egg.startup ?? '', variables, true);
  const files = egg.configFiles.flatMap(({ path, replacements }) => {
    const values = replacements.flatMap(({ value }) => (typeof value === 'string' ? [value] : []));
    return unknownNames(values.join('\n'), variables).map((name) => {
      return `${path}: nothing stands for {{${name}}}, what it would replace is left as it is`;
    });
  });
  return [
    ...startup.map((name) => `startup: nothing stands for {{${name}}}, it stays as it is written`),
    ...files,
  ];
}

function reviewRules(egg: Egg, compile: PatternCompiler | null): string[] {
  return egg.variables.flatMap(({ env, rules }) => {
    const unknown = unknownRules(rules).map((rule) => `${env}: the rule ${rule} is not checked`);
    const patterns = rules.filter((rule) => /^(?:not_)?regex:/.test(rule));
    const bad = patterns.filter((rule) => {
      const pattern = parsePattern(rule.slice(rule.indexOf(':') + 1));
      if (pattern === null) return true;
      return compile !== null && compile(pattern.source, pattern.flags) === null;
    });
    return [...unknown, ...bad.map((rule) => `${env}: ${rule} is not understood and not checked`)];
  });
}

function reviewPatterns(egg: Egg, compile: PatternCompiler): string[] {
  const done = egg.done.filter(
    ({ kind, pattern }) => kind === 'regex' && compile(pattern, '') === null,
  );
  const files = egg.configFiles.flatMap(({ path, replacements }) =>
    replacements
      .filter(({ ifValue }) => ifValue?.startsWith('regex:') === true)
      .filter(({ ifValue }) => compile((ifValue as string).slice('regex:'.length), '') === null)
      .map(
        ({ ifValue }) => `${path}: ${ifValue} is not understood, what it guards is left as it is`,
      ),
  );
  return [
    ...done.map(({ pattern }) => `done: regex:${pattern} is not understood and never matches`),
    ...files,
  ];
}
