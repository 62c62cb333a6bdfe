/** For each kept line beside its characters: an estimate of what the engine spends on a string and its place. */
const LINE_COST = 48;

/** The last lines, within a number of lines and a number of bytes. */
export class LineRing {
  private readonly maxLines: number;
  private readonly maxBytes: number;
  private lines: string[] = [];
  /** Lines before it are gone; the array is shortened only now and then. */
  private first = 0;
  private bytes = 0;
  /** Of the last line; each has the next. */
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

/** Two bytes a character is the most that a string takes. */
function costOf(line: string): number {
  return 2 * line.length + LINE_COST;
}
