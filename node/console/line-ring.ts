/** An estimate of the memory of a string besides its characters. */
const LINE_COST = 48;

/** The last lines, limited by their number and bytes. */
export class LineRing {
  private readonly maxLines: number;
  private readonly maxBytes: number;
  private lines: string[] = [];
  /** The index of the first line; the array is shortened only occasionally. */
  private first = 0;
  private bytes = 0;
  /** The number of the last line; numbers are consecutive. */
  lastNumber: number;

  constructor(maxLines: number, maxBytes: number, lastNumber = 0) {
    this.maxLines = maxLines;
    this.maxBytes = maxBytes;
    this.lastNumber = lastNumber;
  }

  push(line: string): void {
    this.lines.push(line);
    this.lastNumber += 1;
    this.bytes += costOf(line);
    while (this.lines.length - this.first > this.maxLines || this.bytes > this.maxBytes) {
      this.bytes -= costOf(this.lines[this.first] ?? '');
      this.lines[this.first] = '';
      this.first += 1;
    }
    if (this.first > this.maxLines) {
      this.lines = this.lines.slice(this.first);
      this.first = 0;
    }
  }

  /** Oldest first. */
  last(count: number): readonly string[] {
    const wanted = Math.max(0, Math.min(count, this.lines.length - this.first));
    return this.lines.slice(this.lines.length - wanted);
  }
}

/** A string takes at most two bytes for each character. */
function costOf(line: string): number {
  return 2 * line.length + LINE_COST;
}
