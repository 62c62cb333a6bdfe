import type { FilePath } from './path.ts';

/** Decides which files of a server nobody may read, change or delete. */
export interface Denylist {
  /** False: nothing is denied. */
  readonly isEmpty: boolean;
  /** Whether the path, or a folder on the way to it, is denied. */
  denies(path: FilePath): boolean;
}

/**
 * The lines of an egg's `file_denylist`, which have the form of a gitignore file (https://git-scm.com/docs/gitignore):
 * `*`, `?`, `[a-z]`, `**`, a leading `!` that allows again, and names without a slash at any depth. A pattern for a folder
 * (`secrets/`) denies a file of this name too, because a path does not say which of them it is.
 */
export function parseDenylist(lines: readonly string[]): Denylist {
  const patterns = lines.flatMap(parseLine);
  return {
    isEmpty: patterns.length === 0,
    denies: (path) => path.some((_, index) => matchesLast(patterns, path.slice(0, index + 1))),
  };
}

type Token = { readonly kind: 'any' } | { readonly kind: 'one'; test(character: string): boolean };

interface Pattern {
  readonly allows: boolean;
  /** One of each name; null stands for any number of names. */
  readonly names: readonly (readonly Token[] | null)[];
}

/** The last pattern that matches decides. */
function matchesLast(patterns: readonly Pattern[], path: FilePath): boolean {
  return patterns.findLast(({ names }) => matchesNames(names, path))?.allows === false;
}

function matchesNames(names: Pattern['names'], path: FilePath): boolean {
  return matches(
    path,
    names,
    (pattern) => pattern === null,
    (name, pattern) => (pattern === null ? false : matchesName(pattern, name)),
  );
}

function matchesName(tokens: readonly Token[], name: string): boolean {
  return matches(
    Array.from(name),
    tokens,
    ({ kind }) => kind === 'any',
    (character, token) => token.kind === 'one' && token.test(character),
  );
}

/** Whether all items match a pattern, in which a star stands for any number of items. Takes at most n × m steps. */
function matches<Item, Part>(
  items: readonly Item[],
  pattern: readonly Part[],
  isStar: (part: Part) => boolean,
  fits: (item: Item, part: Part) => boolean,
): boolean {
  let [item, part, starAt, itemAtStar] = [0, 0, -1, 0];
  while (item < items.length) {
    const current = pattern[part];
    if (current !== undefined && isStar(current)) {
      [starAt, itemAtStar] = [part, item];
      part += 1;
    } else if (current !== undefined && fits(items[item] as Item, current)) {
      item += 1;
      part += 1;
    } else if (starAt !== -1) {
      // The star takes one item more, and the rest is tried again.
      itemAtStar += 1;
      [item, part] = [itemAtStar, starAt + 1];
    } else return false;
  }
  return pattern.slice(part).every(isStar);
}

function parseLine(line: string): Pattern[] {
  const text = line.replace(/(?<!\\)\s+$/, '');
  if (text === '' || text.startsWith('#')) return [];
  const allows = text.startsWith('!');
  const body = allows ? text.slice(1) : text;
  const path = body.replace(/\/+$/, '');
  if (path === '') return [];
  const isAnchored = path.includes('/');
  const names = path.split('/').filter((name) => name !== '');
  const parsedNames = names.map((name) => (name === '**' ? null : parseTokens(name)));
  return [{ allows, names: isAnchored ? parsedNames : [null, ...parsedNames] }];
}

function parseTokens(name: string): Token[] {
  const tokens: Token[] = [];
  const characters = Array.from(name);
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at] as string;
    if (character === '*') tokens.push({ kind: 'any' });
    else if (character === '?') tokens.push({ kind: 'one', test: () => true });
    else if (character === '[' && characters.indexOf(']', at + 2) !== -1) {
      const end = characters.indexOf(']', at + 2);
      tokens.push({ kind: 'one', test: parseSet(characters.slice(at + 1, end)) });
      at = end;
    } else {
      if (character === '\\') at += 1;
      const literal = characters[at] ?? character;
      tokens.push({ kind: 'one', test: (one) => one === literal });
    }
  }
  return tokens;
}

/** The characters between brackets: single ones and ranges, with a leading `!` or `^` all others. */
function parseSet(characters: readonly string[]): (character: string) => boolean {
  const isNegated = characters[0] === '!' || characters[0] === '^';
  const members = isNegated ? characters.slice(1) : characters;
  const ranges: (readonly [string, string])[] = [];
  for (let at = 0; at < members.length; at += 1) {
    const first = members[at] as string;
    const last = members[at + 2];
    if (members[at + 1] === '-' && last !== undefined) {
      ranges.push([first, last]);
      at += 2;
    } else ranges.push([first, first]);
  }
  return (one) => ranges.some(([first, last]) => one >= first && one <= last) !== isNegated;
}
