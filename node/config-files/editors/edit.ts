/** One value to put into a file; templates are rendered, so it is the value itself. */
export interface Edit {
  readonly match: string;
  /** Only where the value now is this; with `regex:` where it matches, and then only what matches is replaced. */
  readonly ifValue: string | null;
  readonly value: string | number | boolean;
}

export interface Edited {
  readonly text: string;
  /** What could not be done, in sentences; the rest was. */
  readonly problems: readonly string[];
}

/** Throws `Unreadable` when the text is not of its format; the file is then left as it is. */
export type Editor = (text: string, edits: readonly Edit[]) => Edited;

export class Unreadable extends Error {
  override readonly name = 'Unreadable';
}
