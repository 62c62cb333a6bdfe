import { type Driver, DriverError } from './driver.ts';
import { TABLE, verdictMapOf } from './names.ts';
import { objectsOf } from './table/objects.ts';

/**
 * A fake of the kernel for tests. It keeps the elements and chains of our table as text, refuses what the kernel
 * refuses of them (absent chains and elements, duplicate keys), and can be made to refuse more.
 */
export interface FakeKernel extends Driver {
  /** The verdict of each element `map key`, also where the map has its number; null without the table. */
  elements(): ReadonlyMap<string, string> | null;
  /** Resolves to the next text that is applied. */
  nextApply(): Promise<string>;
  /** Changes elements as another process would, without the driver. */
  meddle(change: (elements: Map<string, string>) => void): void;
  /** Every text that was applied, unless the fake was created to record none. */
  readonly applied: readonly string[];
  /** The answer of `probe`. */
  lack: string | null;
  /** Refuses each text for which this returns a reason. */
  refuse: (text: string) => string | null;
  /** Awaited before each apply, so that tests can delay one. */
  beforeApply: () => Promise<void>;
}

interface Table {
  readonly elements: Map<string, string>;
  /** Declarations of chains, sets and maps, by kind and name. */
  readonly objects: Map<string, string>;
}

export function createFakeKernel({ recordsTexts = true } = {}): FakeKernel {
  let table: Table | null = null;
  let stamp = 1;
  const applied: string[] = [];
  const waiting: ((text: string) => void)[] = [];
  let watching: ((what: string) => void) | null = null;
  const attempt = (text: string): Table | null => {
    const reason = fake.refuse(text);
    if (reason !== null) throw new DriverError('refused', reason);
    return run(table, text);
  };
  const fake: FakeKernel = {
    applied,
    lack: null,
    refuse: () => null,
    beforeApply: async () => {},
    elements: () => table && withVerdicts(table.elements),
    probe: async () => fake.lack,
    apply: async (text) => {
      if (text === '') return;
      await fake.beforeApply();
      table = attempt(text);
      stamp += 1;
      if (recordsTexts) applied.push(text);
      for (const resolve of waiting.splice(0)) resolve(text);
    },
    change: ({ text }) => fake.apply(text),
    check: async (text) => void attempt(text),
    remove: async () => {
      stamp += 1;
      table = null;
    },
    present: async () => table !== null,
    stamp: async () => stamp,
    objects: async () => table && new Map(table.objects),
    list: async () => '{"nftables":[{"set":{}}]}',
    watch: (report) => {
      watching = report;
      return { poll: () => {}, stop: () => (watching = null) };
    },
    nextApply: () => new Promise((resolve) => waiting.push(resolve)),
    meddle: (change) => {
      table &&= { ...table, elements: new Map(table.elements) };
      change(table?.elements ?? new Map());
      watching?.('deleted elements');
    },
  };
  return fake;
}

/** The results of `withVerdicts`. The elements of a table never change. */
const resolved = new WeakMap<object, ReadonlyMap<string, string>>();

function withVerdicts(elements: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const known = resolved.get(elements);
  if (known !== undefined) return known;
  const verdictOf = (name: string, value: string): string => {
    const verdicts = verdictMapOf(name.slice(0, name.indexOf(' ')));
    return elements.get(`${verdicts} ${value}`) ?? value;
  };
  const all = new Map([...elements].map(([name, value]) => [name, verdictOf(name, value)]));
  resolved.set(elements, all);
  return all;
}

const fail = (at: number, why: string): never => {
  throw new DriverError('refused', why, [at + 1]);
};

/** Executes the commands that the renderer uses. Others must start with a known word and have no effect. */
function run(before: Table | null, text: string): Table | null {
  let table: Table | null = before && {
    elements: new Map(before.elements),
    objects: new Map(before.objects),
  };
  const lines = text.split('\n');
  for (let at = 0; at < lines.length; at++) {
    const line = (lines[at] ?? '').replace(TABLE, 'T');
    const [command, what, , name = ''] = line.trim().split(' ');
    if (line === 'delete table T') table = null;
    else if (line === 'table T {' || line === 'add table T')
      table ??= { elements: new Map(), objects: new Map() };
    else if (table === null) fail(at, 'No such file or directory');
    else if (/^\t(?:chain|set|map) \S+ \{$/.test(line)) declare(table, lines.slice(at, at + 2), at);
    else if (/^add (?:chain|set|map) /.test(line)) {
      const [, declaration = ''] = / \{ (.*) \}$/.exec(line) ?? [];
      declare(table, [`\t${what} ${name} {`, declaration], at);
    } else if (/^delete (?:chain|set|map) /.test(line)) remove(table, `${what}`, name, at);
    else if (command === 'flush') {
      if (what !== 'table' && !table.objects.has(`${what} ${name}`))
        fail(at, 'No such file or directory');
      if (what !== 'table') dropEntries(table, name);
    } else if (command === 'add' && what === 'element')
      at = addEntries(table, lines, at, name, fail);
    else if (command === 'delete' && what === 'element') {
      at = deleteEntries(table, lines, at, name, fail);
    } else if (!/^(?:\s|\}|$|add rule |(?:add|delete) limit )/.test(line)) {
      fail(at, 'syntax error');
    }
  }
  return table;
}

/** An existing object accepts only the same declaration. */
function declare(table: Table, declaration: readonly string[], at: number): void {
  for (const [object, text] of objectsOf(declaration)) {
    const there = table.objects.get(object);
    if (there !== undefined && text !== '' && there !== text) fail(at, 'File exists');
    if (there === undefined) table.objects.set(object, text);
  }
}

function remove(table: Table, kind: string, name: string, at: number): void {
  if (!table.objects.delete(`${kind} ${name}`)) fail(at, 'No such file or directory');
  if (kind !== 'chain') dropEntries(table, name);
  const isUsed = [...table.elements.values()].includes(`goto ${name}`);
  if (kind === 'chain' && isUsed) fail(at, 'Device or resource busy');
}

type Fail = (at: number, why: string) => never;

function addEntries(
  table: Table | null,
  lines: readonly string[],
  at: number,
  name: string,
  fail: Fail,
): number {
  const { entries, last } = entriesAt(lines, at);
  for (const entry of entries) {
    const [key = '', verdict = ''] = entry.split(' : ');
    const chain = /^goto (.*)$/.exec(verdict)?.[1];
    if (chain !== undefined && table?.objects.has(`chain ${chain}`) !== true)
      fail(at, 'No such file or directory');
    const there = table?.elements.get(`${name} ${key}`);
    if (there !== undefined && there !== verdict) fail(at, 'File exists');
    table?.elements.set(`${name} ${key}`, verdict);
  }
  return last;
}

function deleteEntries(
  table: Table | null,
  lines: readonly string[],
  at: number,
  name: string,
  fail: Fail,
): number {
  const { entries, last } = entriesAt(lines, at);
  for (const key of entries) {
    if (table?.elements.delete(`${name} ${key}`) !== true) fail(at, 'No such file or directory');
  }
  return last;
}

/** The entries of a command: on its line, or on a line each. */
function entriesAt(
  lines: readonly string[],
  at: number,
): { readonly entries: readonly string[]; readonly last: number } {
  const inline = / \{ (.*) \}$/.exec(lines[at] ?? '')?.[1];
  if (inline !== undefined) return { entries: [inline], last: at };
  const entries: string[] = [];
  let last = at + 1;
  for (; lines[last] !== '}' && last < lines.length; last++) {
    entries.push((lines[last] ?? '').trim().replace(/,$/, ''));
  }
  return { entries, last };
}

function dropEntries(table: Table | null, name: string): void {
  for (const key of table?.elements.keys() ?? []) {
    if (key.startsWith(`${name} `)) table?.elements.delete(key);
  }
}
