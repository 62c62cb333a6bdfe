/** A reading of the last lines of a console. */
export interface ConsoleReading {
  /** Null: unknown. */
  readonly lines: readonly string[] | null;
  /** Number of the last line; lines are numbered consecutively. */
  readonly last_number: number | null;
}

export interface NewLines {
  readonly lines: readonly string[];
  /** False: lines before them are missing. */
  readonly isComplete: boolean;
}

/** The lines after `before`. All lines if there is no `before`, or if lines have no numbers and differ. */
export function newLines(before: ConsoleReading | null, now: ConsoleReading): NewLines {
  const lines = now.lines ?? [];
  if (before === null) return { lines, isComplete: true };
  if (before.last_number === null || now.last_number === null) {
    const isSame = JSON.stringify(lines) === JSON.stringify(before.lines);
    return { lines: isSame ? [] : lines, isComplete: isSame };
  }
  const newCount = now.last_number - before.last_number;
  // Negative if the node's clock was set back before the node restarted.
  if (newCount < 0 || newCount > lines.length) return { lines, isComplete: false };
  return { lines: newCount === 0 ? [] : lines.slice(-newCount), isComplete: true };
}
