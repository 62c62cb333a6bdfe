import { TABLE_NAME } from '../names.ts';

/**
 * The chains, sets, maps and flowtables of our table, without contents. The key is the kind and the name, `map address4`; the
 * value is the declaration as nft lists it. A chain that has no hook has an empty declaration. Limits are absent: to list them, nft loads every element.
 */
export type TableObjects = ReadonlyMap<string, string>;

/** The nft commands that list them. With terse output none of them loads elements. */
export const LIST_OBJECTS = [
  'list chains inet',
  'list sets inet',
  'list maps inet',
  'list flowtables inet',
] as const;

interface ListedSet {
  readonly table: string;
  readonly name: string;
  readonly type: string | readonly string[];
  readonly map?: string;
  readonly size?: number;
  readonly flags?: readonly string[];
  readonly timeout?: number;
}

interface ListedChain {
  readonly table: string;
  readonly name: string;
  readonly type?: string;
  readonly hook?: string;
  readonly prio?: number;
  readonly policy?: string;
}

interface Listed {
  readonly nftables: readonly {
    readonly chain?: ListedChain;
    readonly set?: ListedSet;
    readonly map?: ListedSet;
    readonly flowtable?: { readonly table: string; readonly name: string };
  }[];
}

/** Parses the answers to `LIST_OBJECTS`. Returns null if our table is absent. Throws `SyntaxError`. */
export function parseObjects(answers: readonly string[]): TableObjects | null {
  const objects = new Map<string, string>();
  const items = answers.flatMap((answer) => (JSON.parse(answer) as Listed).nftables);
  for (const { chain, set, map, flowtable } of items) {
    if (chain?.table === TABLE_NAME) objects.set(`chain ${chain.name}`, chainText(chain));
    if (set?.table === TABLE_NAME) objects.set(`set ${set.name}`, setText(set));
    if (map?.table === TABLE_NAME) objects.set(`map ${map.name}`, setText(map));
    if (flowtable?.table === TABLE_NAME) objects.set(`flowtable ${flowtable.name}`, 'not ours');
  }
  return objects.size === 0 ? null : objects;
}

/** Reads the declarations of a rendered table. */
export function objectsOf(block: readonly string[]): TableObjects {
  const objects = new Map<string, string>();
  for (const [index, line] of block.entries()) {
    const [, kind, name] = /^\t(chain|set|map) (\S+) \{$/.exec(line) ?? [];
    if (kind === undefined) continue;
    const first = (block[index + 1] ?? '').trim();
    const isDeclaration = kind !== 'chain' || first.startsWith('type ');
    objects.set(`${kind} ${name}`, isDeclaration ? listedText(first) : '');
  }
  return objects;
}

/** A declaration as nft lists it: without the flag `dynamic`, and a raw payload field as an integer. */
function listedText(declaration: string): string {
  return declaration
    .replace(/^typeof @\S+;/, 'type integer;')
    .replace(' flags dynamic;', '')
    .replace('flags dynamic,', 'flags ');
}

function chainText({ type, hook, prio, policy }: ListedChain): string {
  return hook === undefined ? '' : `type ${type} hook ${hook} priority ${prio}; policy ${policy};`;
}

function setText({ type, map, size, flags, timeout }: ListedSet): string {
  const key = typeof type === 'string' ? type : type.join(' . ');
  return [
    `type ${key}${map === undefined ? '' : ` : ${map}`};`,
    ...(size === undefined ? [] : [`size ${size};`]),
    ...(flags === undefined ? [] : [`flags ${flags.join(',')};`]),
    ...(timeout === undefined ? [] : [`timeout ${timeout}s;`]),
  ].join(' ');
}
