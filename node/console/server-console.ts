import { LineRing } from './line-ring.ts';
import { LineSplitter, plainText } from './line-splitter.ts';
import type { DonePattern } from '@portcullis/core/game-servers/egg.ts';
import { compilePattern } from '../eggs/re2.ts';

const KEPT_LINES = 1000;
const KEPT_BYTES = 256 * 1024;
/** `bytes` is what can be decoded and kept without the other servers of a node noticing. */
const FLOOD: FloodLimits = { windowMs: 100, lines: 2000, bytes: 1024 * 1024 };

/**
 * The console of one server: what came out of it last, and whether a done line was among it. Memory is bounded
 * whatever comes: one unfinished line, the last lines, three counters.
 */
export class ServerConsole {
  private readonly now: () => number;
  private readonly splitter: LineSplitter;
  /** Numbered from the clock on, so that no agent gives the numbers of one before it again. */
  private readonly ring = new LineRing(KEPT_LINES, KEPT_BYTES, Date.now());
  private readonly gate = new FloodGate(FLOOD);
  private watching: { readonly matcher: DoneMatcher; readonly onDone: () => void } | null = null;

  /** `now` in milliseconds, from a clock that only goes forward. */
  constructor(now: () => number = () => performance.now()) {
    this.now = now;
    this.splitter = new LineSplitter((bytes, overwritten) => this.line(bytes, overwritten));
  }

  /** Bytes as the engine's attach gives them, split anywhere. */
  push(chunk: Buffer): void {
    this.splitter.push(chunk);
  }

  /** The stream ended: what has no line end yet is a line. The next may begin. */
  end(): void {
    this.splitter.end();
  }

  /** A line of ours among the server's. */
  say(text: string): void {
    this.tellDropped();
    this.ring.push(`[portcullis] ${text}`);
  }

  /** The last lines, oldest first: plain text, no control characters. */
  last(lines: number): readonly string[] {
    this.tellDropped();
    return this.ring.last(lines);
  }

  /** Number of the last line: whoever reads again knows by it how many are new. */
  get lastNumber(): number {
    this.tellDropped();
    return this.ring.lastNumber;
  }

  /** Tells the next done line, once; also one that a flood drops or a prompt overwrites. Replaces an earlier watch. */
  watchDone(matcher: DoneMatcher, onDone: () => void): void {
    this.watching = { matcher, onDone };
  }

  stopWatching(): void {
    this.watching = null;
  }

  get droppedLines(): number {
    return this.gate.dropped;
  }

  private line(bytes: Buffer, overwritten: boolean): void {
    const now = this.now();
    const passes = overwritten || this.gate.admits(bytes.length, now);
    if (!passes && this.watching === null) return;
    if (overwritten && this.watching === null) return;
    const text = plainText(bytes);
    if (passes && !overwritten) {
      this.tellDropped();
      this.ring.push(text);
    }
    this.lookForDone(text, now);
  }

  private lookForDone(text: string, now: number): void {
    if (this.watching?.matcher.matches(text, now) !== true) return;
    const { onDone } = this.watching;
    this.watching = null;
    onDone();
  }

  private tellDropped(): void {
    const dropped = this.gate.takeDropped();
    if (dropped === 0) return;
    const count = dropped.toLocaleString('en-US');
    this.ring.push(`[portcullis] ${count} lines were dropped: too many at once`);
  }
}

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

/**
 * Lets so many lines and bytes through in a window of time; the rest is only counted. Wings' numbers: 2,000 lines in
 * 100 ms.
 */
export class FloodGate {
  private readonly limits: FloodLimits;
  private windowStart = Number.NEGATIVE_INFINITY;
  private lines = 0;
  private bytes = 0;
  private waiting = 0;
  /** All that were dropped, ever. */
  dropped = 0;

  constructor(limits: FloodLimits) {
    this.limits = limits;
  }

  /** Whether a line of so many bytes may pass now. */
  admits(bytes: number, nowMs: number): boolean {
    if (nowMs - this.windowStart >= this.limits.windowMs || nowMs < this.windowStart) {
      this.windowStart = nowMs;
      this.lines = 0;
      this.bytes = 0;
    }
    this.lines += 1;
    this.bytes += bytes;
    const passes = this.lines <= this.limits.lines && this.bytes <= this.limits.bytes;
    if (!passes) {
      this.waiting += 1;
      this.dropped += 1;
    }
    return passes;
  }

  /** How many were dropped since this was last asked. */
  takeDropped(): number {
    const { waiting } = this;
    this.waiting = 0;
    return waiting;
  }
}

export interface FloodLimits {
  readonly windowMs: number;
  readonly lines: number;
  readonly bytes: number;
}
