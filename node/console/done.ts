import type { DonePattern } from '@portcullis/core/game-servers/egg.ts';
import { compilePattern } from '../eggs/re2.ts';

export interface DoneMatcher {
  /** Whether this line, without escape sequences, says that the server runs. */
  matches(line: string): boolean;
  /** No pattern is left: the server runs once it is started. */
  readonly empty: boolean;
  /** Patterns that RE2 does not understand, in words; they never match. */
  readonly problems: readonly string[];
}

/** Any of an egg's patterns, in time linear in the line. */
export function compileDone(patterns: readonly DonePattern[]): DoneMatcher {
  const texts = patterns.filter(({ kind }) => kind === 'text').map(({ pattern }) => pattern);
  const problems: string[] = [];
  const expressions = patterns
    .filter(({ kind }) => kind === 'regex')
    .flatMap(({ pattern }) => {
      const test = compilePattern(pattern, '');
      if (test === null) problems.push(`regex:${pattern} is not understood and never matches`);
      return test === null ? [] : [test];
    });
  return {
    matches: (line) =>
      texts.some((text) => line.includes(text)) || expressions.some((test) => test(line)),
    empty: texts.length + expressions.length === 0,
    problems,
  };
}
