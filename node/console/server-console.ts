/** The console of one server: what came out of it last, and whether its done line was among it. */
export interface ServerConsole {
  /** Bytes as the engine's attach gives them, split anywhere. Never throws, never grows. */
  push(chunk: Buffer): void;
  /** The stream ended: what has no line end yet is a line. */
  end(): void;
  /** A line of ours among the server's, such as "[portcullis] starting". */
  say(text: string): void;
  /** The last lines, oldest first, plain text without escape sequences. */
  last(lines: number): readonly string[];
  /** From now on the next done line is told, once, to `onDone`; null: look no more. */
  watchDone(onDone: (() => void) | null): void;
  /** Lines that a flood lost since the console began. */
  readonly droppedLines: number;
}
