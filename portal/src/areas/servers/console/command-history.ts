const KEPT = 50;

/** The commands that were sent, newest last, and where the arrow keys are in them. */
export interface CommandHistory {
  readonly sent: readonly string[];
  /** `sent.length`: at the line that is being typed. */
  readonly at: number;
  /** That line, while an older one is shown. */
  readonly draft: string;
}

export const NO_HISTORY: CommandHistory = { sent: [], at: 0, draft: '' };

/** The same command twice in a row is one. */
export function addCommand({ sent }: CommandHistory, command: string): CommandHistory {
  const all = sent.at(-1) === command ? sent : [...sent, command].slice(-KEPT);
  return { sent: all, at: all.length, draft: '' };
}

/** The command before (-1) or after (1) the one that is shown; null at the end. */
export function stepHistory(
  history: CommandHistory,
  by: -1 | 1,
  typed: string,
): { readonly history: CommandHistory; readonly shown: string } | null {
  const { sent, at } = history;
  const next = at + by;
  if (next < 0 || next > sent.length) return null;
  const draft = at === sent.length ? typed : history.draft;
  return { history: { sent, at: next, draft }, shown: sent[next] ?? draft };
}
