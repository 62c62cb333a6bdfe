import type { DonePattern } from '@portcullis/core/game-servers/egg.ts';
import { compilePattern } from '../eggs/re2.ts';

/** Of this time, so much may go into regular expressions: a flood of long lines must leave the rest to others. */
const WINDOW_MS = 100;
const BUDGET_MS = 50;

/** Any of an egg's patterns. */
export class DoneMatcher {
  /** Patterns that RE2 does not understand, in words; they never match. */
  readonly problems: readonly string[];
  /** No pattern can ever match: the server runs once it is started. */
  readonly empty: boolean;
  private readonly texts: readonly string[];
  private readonly expressions: readonly ((text: string) => boolean)[];
  private windowStart = Number.NEGATIVE_INFINITY;
  private spentMs = 0;

  constructor(patterns: readonly DonePattern[]) {
    const compiled = patterns
      .filter(({ kind }) => kind === 'regex')
      .map(({ pattern }) => ({ pattern, test: compilePattern(pattern, '') }));
    this.texts = patterns.filter(({ kind }) => kind === 'text').map(({ pattern }) => pattern);
    this.expressions = compiled.flatMap(({ test }) => (test === null ? [] : [test]));
    this.problems = compiled
      .filter(({ test }) => test === null)
      .map(({ pattern }) => `regex:${pattern} is not understood and never matches`);
    this.empty = this.texts.length + this.expressions.length === 0;
  }

  /** Whether this line, without escape sequences, says that the server runs. */
  matches(line: string, nowMs: number): boolean {
    if (this.texts.some((text) => line.includes(text))) return true;
    if (this.expressions.length === 0) return false;
    if (nowMs - this.windowStart >= WINDOW_MS) {
      this.windowStart = nowMs;
      this.spentMs = 0;
    }
    if (this.spentMs >= BUDGET_MS) return false;
    const begin = performance.now();
    const found = this.expressions.some((test) => test(line));
    this.spentMs += performance.now() - begin;
    return found;
  }
}
