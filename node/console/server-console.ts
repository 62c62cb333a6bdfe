import type { DoneMatcher } from './done.ts';
import { FloodGate, type FloodLimits } from './flood-gate.ts';
import { LineRing } from './line-ring.ts';
import { LineSplitter } from './line-splitter.ts';
import { plainText } from './plain-text.ts';

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
