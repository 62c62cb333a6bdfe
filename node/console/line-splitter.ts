const LF = 0x0a;
const CR = 0x0d;

/** The longest line, which bounds the memory of a splitter; a longer one is split. */
export const MAX_LINE_BYTES = 8192;

/**
 * `overwritten`: text after a carriage return replaced the line, as with progress bars and prompts; a terminal no longer
 * shows it. The bytes are valid only until the call returns.
 */
export type OnLine = (bytes: Buffer, overwritten: boolean) => void;

/**
 * Splits a stream of bytes into lines. Chunks may end anywhere: inside a character, between CR and LF. Works on bytes,
 * because no byte of a longer UTF-8 character is a line end. Takes linear time and the memory of one line.
 */
export class LineSplitter {
  private readonly onLine: OnLine;
  private readonly held = Buffer.alloc(MAX_LINE_BYTES);
  private length = 0;
  /** The held bytes ended with a CR: the next byte shows whether it was part of a line end. */
  private returned = false;

  constructor(onLine: OnLine) {
    this.onLine = onLine;
  }

  push(chunk: Buffer): void {
    let lf = chunk.indexOf(LF);
    let cr = chunk.indexOf(CR);
    for (let at = 0; at < chunk.length; ) {
      if (lf !== -1 && lf < at) lf = chunk.indexOf(LF, at);
      if (cr !== -1 && cr < at) cr = chunk.indexOf(CR, at);
      const end = firstOf(lf, cr, chunk.length);
      if (end > at) this.take(chunk.subarray(at, end));
      if (end < chunk.length) this.close(chunk[end] === LF);
      at = end + 1;
    }
  }

  /** Ends the stream; held bytes count as a line. */
  end(): void {
    if (this.length > 0) this.emit(false);
    this.returned = false;
  }

  private take(run: Buffer): void {
    if (this.returned) this.emit(true);
    let rest = run;
    while (this.length + rest.length > MAX_LINE_BYTES) {
      const copied = rest.copy(this.held, this.length);
      this.length += copied;
      rest = rest.subarray(copied);
      this.cut();
    }
    this.length += rest.copy(this.held, this.length);
  }

  private close(isLineFeed: boolean): void {
    // CR CR LF is one line end: terminals turn CR LF into it.
    if (isLineFeed) this.emit(false);
    else this.returned = true;
  }

  private emit(overwritten: boolean): void {
    const bytes = this.held.subarray(0, this.length);
    this.length = 0;
    this.returned = false;
    if (bytes.length > 0 || !overwritten) this.onLine(bytes, overwritten);
  }

  /** The buffer is full: emits it without an incomplete character at its end. */
  private cut(): void {
    const kept = unfinished(this.held);
    this.onLine(this.held.subarray(0, MAX_LINE_BYTES - kept), false);
    this.held.copyWithin(0, MAX_LINE_BYTES - kept);
    this.length = kept;
  }
}

function firstOf(lf: number, cr: number, end: number): number {
  if (lf === -1) return cr === -1 ? end : cr;
  return cr === -1 ? lf : Math.min(lf, cr);
}

/** The number of bytes at the end that belong to an incomplete character: 0 to 3. */
function unfinished(bytes: Buffer): number {
  for (let back = 1; back <= 3; back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte >= 0xc0) return back < lengthFrom(byte) ? back : 0;
    if (byte < 0x80) return 0;
  }
  return 0;
}

function lengthFrom(lead: number): number {
  if (lead >= 0xf0) return 4;
  return lead >= 0xe0 ? 3 : 2;
}
