import { type ConsoleReading, newLines } from '@portcullis/core/game-servers/console-lines.ts';

export type ConsoleNews =
  | { readonly kind: 'lines'; readonly lines: readonly string[]; readonly isComplete: boolean }
  /** Nobody knows now what the console shows. */
  | { readonly kind: 'unknown' };

/** The most that the service answers, and what it is asked for once those are known. */
const ALL_LINES = 1000;
const NEW_LINES = 100;

/** The last lines of a console, then the new ones, for ever: reads again after each `pause`. */
export async function* followConsole(
  read: (lines: number) => Promise<ConsoleReading>,
  pause: () => Promise<void>,
): AsyncGenerator<ConsoleNews, void> {
  let known: ConsoleReading | null = null;
  for (;;) {
    let now = await read(known === null ? ALL_LINES : NEW_LINES);
    let news = newLines(known, now);
    if (now.lines !== null && !news.isComplete) {
      now = await read(ALL_LINES);
      news = newLines(known, now);
    }
    if (now.lines === null) yield { kind: 'unknown' };
    else {
      known = now;
      yield { kind: 'lines', ...news };
    }
    await pause();
  }
}
