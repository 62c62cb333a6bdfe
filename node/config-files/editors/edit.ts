import { RE2JS } from 're2js';

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

const MAX_PATTERN = 1024;

/**
 * What a value becomes: null where the edit does not apply to it. `current` is null where there is none yet; an edit
 * with a condition then does not apply.
 */
export function valueAfter(
  current: string | null,
  { ifValue, value }: Edit,
): string | number | boolean | null {
  if (ifValue === null) return value;
  if (current === null) return null;
  if (!ifValue.startsWith('regex:')) return current === ifValue ? value : null;
  return replaced(current, ifValue.slice('regex:'.length), String(value));
}

/** Every match replaced, with `$1` and `${1}` for its groups, as Go's regexp does it; null: nothing matched. */
function replaced(current: string, pattern: string, replacement: string): string | null {
  if (pattern.length > MAX_PATTERN) return null;
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(pattern);
  } catch {
    return null;
  }
  const matcher = compiled.matcher(current);
  let text: string | null = null;
  let end = 0;
  while (matcher.find()) {
    const put = expanded(replacement, (group) => groupOf(matcher, group));
    text = (text ?? '') + current.slice(end, matcher.start()) + put;
    end = matcher.end();
  }
  return text === null ? null : text + current.slice(end);
}

function groupOf(matcher: ReturnType<RE2JS['matcher']>, group: number): string {
  return group <= matcher.groupCount() ? (matcher.group(group) ?? '') : '';
}

function expanded(replacement: string, group: (index: number) => string): string {
  return replacement.replaceAll(/\$(?:\$|(\d{1,2})|\{(\d{1,2})\})/g, (whole, bare, braced) => {
    if (whole === '$$') return '$';
    return group(Number((bare ?? braced) as string));
  });
}
