import { RE2JS } from 're2js';

/** A value for a file, with templates already rendered. */
export interface Edit {
  readonly match: string;
  /** Applies only if the present value equals this; with `regex:` if it matches, and replaces only the match. */
  readonly ifValue: string | null;
  readonly value: string | number | boolean;
}

export interface Edited {
  readonly text: string;
  /** Problems in sentences; all other edits were applied. */
  readonly problems: readonly string[];
}

/** Throws `Unreadable` if the text is not in its format; the file is then left unchanged. */
export type Editor = (text: string, edits: readonly Edit[]) => Edited;

export class Unreadable extends Error {
  override readonly name = 'Unreadable';
}

const MAX_PATTERN = 1024;

/**
 * The new value, or null if the edit does not apply. `current` is null if there is no value; an edit with a condition
 * then does not apply.
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

/** Replaces every match, with `$1` and `${1}` for its groups as in Go's regexp. Returns null if nothing matched. */
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
