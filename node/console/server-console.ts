import { LineSplitter } from './line-splitter.ts';
import { colouredText, plainText } from '@portcullis/core/game-servers/console-text.ts';
import type { DonePattern } from '@portcullis/core/game-servers/egg.ts';
import { compilePattern } from '@portcullis/core/game-servers/eggs/re2.ts';

const KEPT_LINES = 1000;
const KEPT_BYTES = 256 * 1024;
/** `bytes` is what can be decoded without slowing down the other servers of a node. */
const FLOOD = { windowMs: 100, lines: 2000, bytes: 1024 * 1024 };
/** An estimate of the memory of a string besides its characters, which take at most two bytes each. */
const LINE_COST = 48;

/**
 * The console of one server: keeps its last lines and watches for a done line. Memory is bounded: one unfinished line, the
 * last lines, three counters.
 */
export class ServerConsole {
  private readonly now: () => number;
  private readonly splitter: LineSplitter;
  /** Numbers start at the clock, so that an agent does not reuse the numbers of an earlier one. */
  private readonly ring = new LineRing(Date.now());
  private readonly gate = new FloodGate();
  private watching: { readonly matcher: DoneMatcher; readonly onDone: () => void } | null = null;

  /** `now` is in milliseconds, from a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.now = now;
    this.splitter = new LineSplitter((bytes, overwritten) => this.line(bytes, overwritten));
  }

  /** Takes bytes of the engine's output, split anywhere. */
  push(chunk: Buffer): void {
    this.splitter.push(chunk);
  }

  /** Ends the stream; an unfinished line counts as a line. */
  end(): void {
    this.splitter.end();
  }

  /** Adds a line of the agent's own. */
  say(text: string): void {
    this.addDroppedNotice();
    this.ring.push(`[portcullis] ${text}`);
  }

  /** Returns the last lines, oldest first: plain text, no control characters. */
  last(lines: number): readonly string[] {
    return this.lastColoured(lines).map(plainText);
  }

  /** The same with the escape sequences of colours. */
  lastColoured(lines: number): readonly string[] {
    this.addDroppedNotice();
    return this.ring.last(lines);
  }

  /** The number of the last line, by which a reader knows how many lines are new. */
  get lastNumber(): number {
    this.addDroppedNotice();
    return this.ring.lastNumber;
  }

  /** Reports the next done line once, also one that is dropped or overwritten. Replaces an earlier watch. */
  watchDone(matcher: DoneMatcher, onDone: () => void): void {
    this.watching = { matcher, onDone };
  }

  private line(bytes: Buffer, overwritten: boolean): void {
    const now = this.now();
    const passes = overwritten || this.gate.admits(bytes.length, now);
    if (!passes && this.watching === null) return;
    if (overwritten && this.watching === null) return;
    const text = colouredText(bytes.toString('utf8'));
    if (passes && !overwritten) {
      this.addDroppedNotice();
      this.ring.push(text);
    }
    if (this.watching !== null) this.lookForDone(plainText(text), now);
  }

  private lookForDone(text: string, now: number): void {
    if (this.watching?.matcher.matches(text, now) !== true) return;
    const { onDone } = this.watching;
    this.watching = null;
    onDone();
  }

  private addDroppedNotice(): void {
    const dropped = this.gate.takeDropped();
    if (dropped === 0) return;
    const lines = `${dropped.toLocaleString('en-US')} ${dropped === 1 ? 'line was' : 'lines were'}`;
    this.ring.push(`[portcullis] ${lines} dropped: too many at once`);
  }
}

/** The time that regular expressions may use of each window, so that a flood of lines does not block the agent. */
const WINDOW_MS = 100;
const BUDGET_MS = 50;

/** Matches lines against an egg's done patterns. */
export class DoneMatcher {
  /** Sentences about patterns that RE2 does not accept; they never match. */
  readonly problems: readonly string[];
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
  }

  /** Whether this line, without escape sequences, is a done line. */
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

/** Limits lines and bytes per time window, and counts dropped lines. Wings allows 2,000 lines in 100 ms. */
class FloodGate {
  private windowStart = Number.NEGATIVE_INFINITY;
  private lines = 0;
  private bytes = 0;
  private dropped = 0;

  /** Whether a line of this length passes now. */
  admits(bytes: number, nowMs: number): boolean {
    if (nowMs - this.windowStart >= FLOOD.windowMs || nowMs < this.windowStart) {
      this.windowStart = nowMs;
      this.lines = 0;
      this.bytes = 0;
    }
    this.lines += 1;
    this.bytes += bytes;
    const passes = this.lines <= FLOOD.lines && this.bytes <= FLOOD.bytes;
    if (!passes) this.dropped += 1;
    return passes;
  }

  /** Returns the number of lines dropped since the last call. */
  takeDropped(): number {
    const { dropped } = this;
    this.dropped = 0;
    return dropped;
  }
}

/** The last lines, limited by their number and bytes. */
class LineRing {
  private readonly lines: string[] = [];
  private bytes = 0;
  /** The number of the last line; numbers are consecutive. */
  lastNumber: number;

  constructor(lastNumber: number) {
    this.lastNumber = lastNumber;
  }

  push(line: string): void {
    this.lines.push(line);
    this.lastNumber += 1;
    this.bytes += costOf(line);
    while (this.lines.length > KEPT_LINES || this.bytes > KEPT_BYTES) {
      this.bytes -= costOf(this.lines.shift() ?? '');
    }
  }

  /** Oldest first. */
  last(count: number): readonly string[] {
    return count > 0 ? this.lines.slice(-count) : [];
  }
}

function costOf(line: string): number {
  return 2 * line.length + LINE_COST;
}
