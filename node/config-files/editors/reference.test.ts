import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { it } from 'node:test';
import fc from 'fast-check';
import { parse as parseYaml } from 'yaml';
import { require } from '@portcullis/lab/requirements.ts';
import { EDITORS } from './editors.ts';

type Parser = keyof typeof EDITORS;

const PARSERS = Object.keys(EDITORS) as Parser[];
const CASES = 300;

/** A value of a file: what kind of it stands there, in the notation of YAML, TOML and JSON. */
type Kind = 'whole' | 'fraction' | 'boolean' | 'text';
interface Standing {
  readonly kind: Kind;
  readonly text: string;
}
/** Sections with keys, and how they are written down. */
interface File {
  readonly sections: Readonly<Record<string, Readonly<Record<string, Standing>>>>;
  readonly hasComments: boolean;
  readonly isSpaced: boolean;
  readonly lineEnd: string;
  readonly isEnded: boolean;
  readonly mark: string;
}
interface Case {
  readonly parser: Parser;
  readonly section: string;
  readonly key: string;
  readonly value: string;
  readonly standing: Standing | null;
  readonly before: string;
  readonly after: string;
  readonly problems: readonly string[];
}

const standing: fc.Arbitrary<Standing> = fc.oneof(
  fc.record({ kind: fc.constant('whole'), text: fc.constantFrom('0', '7', '-3', '25565') }),
  fc.record({ kind: fc.constant('fraction'), text: fc.constantFrom('1.0', '0.25', '-2.5') }),
  fc.record({ kind: fc.constant('boolean'), text: fc.constantFrom('true', 'false') }),
  fc.record({
    kind: fc.constant('text'),
    text: fc.constantFrom('old', 'two words', 'd\u00e9j\u00e0', '\u65e7', 'a.b', '127.0.0.1'),
  }),
);
const file: fc.Arbitrary<File> = fc.record({
  sections: fc.dictionary(
    fc.constantFrom('net', 'game'),
    fc.dictionary(fc.constantFrom('port', 'name', 'mode'), standing, { minKeys: 1 }),
    { minKeys: 1 },
  ),
  hasComments: fc.boolean(),
  isSpaced: fc.boolean(),
  lineEnd: fc.constantFrom('\n', '\r\n'),
  isEnded: fc.boolean(),
  mark: fc.constantFrom('', '', '\ufeff'),
});
/** No `;` and `#`: readers of ini files differ about values with them. */
const HOSTILE = Array.from(
  '\n\r\t\f\v\0\u0007\u007f\u0085\u2028\ufeff\ud800"\'\\=:[]{}<>&%$!|,-*.? ab0\u00e9\u670d\u0a0a\u{1f3ae}',
);
const value = fc.oneof(
  fc.constantFrom('0', '1', 'true', 'FALSE', 'no', 'off', 'null', '~', ''),
  fc.constantFrom('25577', '2.5', '-0.5', '.5', '+7', '1e3', '1.20', '007', '1.2.3', '0x10'),
  fc.constantFrom(
    'key: 1',
    'a=b',
    '[net]',
    '- a',
    '</port>',
    ']]>',
    '"""',
    "'''",
    '&amp;',
    '\\u0041',
  ),
  fc.constantFrom('a\nport=1', 'a\r[net]', "x' y='z", "[a='b']", 'ends\\', '@a', '!!int 5', '*a'),
  fc.array(fc.constantFrom(...HOSTILE), { maxLength: 8 }).map((chars) => chars.join('')),
);

it('every editor changes what was asked for and nothing else, as the usual reader reads it', (t) => {
  if (!require(t, ['python3'])) return;
  const cases = PARSERS.flatMap(makeCases);
  const readings = read(
    cases.flatMap(({ parser, before, after }) => [
      [parser, before],
      [parser, after],
    ]),
  );
  const changed = new Map<Parser, number>();
  for (const [index, one] of cases.entries()) {
    const { parser } = one;
    const [before, after] = readings.slice(index * 2, index * 2 + 2);
    // Without PyYAML, the reader of YAML 1.1 is the library that the editor uses itself.
    const [was, is] =
      before === null
        ? [one.before, one.after].map((text) => parseYaml(text, { version: '1.1' }) as unknown)
        : [before, after];
    const message = JSON.stringify(one);
    assert.equal(hasError(was), false, `${message} ${JSON.stringify(was)}`);
    const isRefused = one.problems.length > 0;
    if (isRefused) assert.equal(one.after, one.before, message);
    assertReading(one, isRefused ? plainNumbers(was) : expected(one, was), is, message);
    if (one.after !== one.before) changed.set(parser, (changed.get(parser) ?? 0) + 1);
    const again = EDITORS[parser](one.after, [editOf(one)]);
    assert.equal(again.text, one.after, `the second start: ${message}`);
  }
  for (const parser of PARSERS) {
    assert.ok((changed.get(parser) ?? 0) >= CASES / 4, `${parser}: ${changed.get(parser)} changed`);
  }
});

it('the reader of properties reads as java.util.Properties is documented to', (t) => {
  if (!require(t, ['python3'])) return;
  const vectors: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ['Truth = Beauty\n', { Truth: 'Beauty' }],
    [' Truth:Beauty', { Truth: 'Beauty' }],
    ['Truth                    :Beauty', { Truth: 'Beauty' }],
    [
      'fruits                           apple, banana, pear, \\\n                                 cantaloupe, watermelon, \\\n                                 kiwi, mango\n',
      { fruits: 'apple, banana, pear, cantaloupe, watermelon, kiwi, mango' },
    ],
    ['cheeses\n', { cheeses: '' }],
    ['# a \\\nb=1\n! c\n\t \nd=2', { b: '1', d: '2' }],
    ['\\:\\==\\u0041\\z', { ':=': 'Az' }],
    ['a=b \n', { a: 'b ' }],
    ['a\\ b = = c', { 'a b': '= c' }],
    ['a=1\\\\\nb=2', { a: '1\\', b: '2' }],
    ['a=hello\\\nb=2', { a: 'hellob=2' }],
    ['a=hello\\\n\nb=2', { a: 'hello', b: '2' }],
    ['a=hello\\', { a: 'hello' }],
    ['a=\\t\\n\\r\\f\\b\\"', { a: '\t\n\r\fb"' }],
    ['a=1\rb=2\r\nc=3', { a: '1', b: '2', c: '3' }],
    ['=empty', { '': 'empty' }],
    ['\\\n#a\nb=1\n\\', { b: '1' }],
  ];
  const readings = read(vectors.map(([text]) => ['properties', text]));
  assert.deepEqual(
    readings,
    vectors.map(([, content]) => content),
  );
});

function makeCases(parser: Parser): Case[] {
  const wanted = fc.tuple(
    file,
    fc.constantFrom('net', 'game'),
    fc.constantFrom('port', 'name', 'mode', 'added'),
    value,
  );
  return fc.sample(wanted, CASES).map(([made, section, key, written]) => {
    const own = made.sections[section]?.[key] ?? null;
    const before = made.mark + render[parser](made).join(made.lineEnd);
    const whole = made.isEnded ? before + made.lineEnd : before;
    const one = { parser, section, key, value: written, standing: own, before: whole };
    const { text, problems } = EDITORS[parser](whole, [editOf(one)]);
    return { ...one, after: text, problems };
  });
}

function editOf({
  parser,
  section,
  key,
  value: written,
}: Pick<Case, 'parser' | 'section' | 'key' | 'value'>) {
  const match = { xml: `root.${section}.${key}`, file: `${section}.${key}=` }[parser as string];
  return {
    match: match ?? `${section}.${key}`,
    ifValue: null,
    value: parser === 'file' ? `${section}.${key}=${written}` : written,
  };
}

const render: Readonly<Record<Parser, (made: File) => string[]>> = {
  file: (made) => flat(made),
  properties: (made) => flat(made),
  ini: (made) =>
    listed(
      made,
      (name) => `[${name}]`,
      (key, { text }) => `${pair(made, key, text)}${made.hasComments ? ' ; note' : ''}`,
    ),
  yaml: (made) =>
    listed(
      made,
      (name) => `${name}:`,
      (key, one) => `  ${key}: ${quoted(one)}${made.hasComments ? ' # note' : ''}`,
    ),
  toml: (made) =>
    listed(
      made,
      (name) => `[${name}]`,
      (key, one) => pair(made, key, quoted(one)) + (made.hasComments ? ' # note' : ''),
    ),
  json: ({ sections, lineEnd }) => {
    const bodies = Object.entries(sections).map(([name, keys]) => {
      const members = Object.entries(keys).map(([key, one]) => `"${key}": ${quoted(one)}`);
      return `  "${name}": {${members.join(', ')}}`;
    });
    return ['{', bodies.join(`,${lineEnd}`), '}'];
  },
  xml: ({ sections, hasComments }) => [
    '<root>',
    ...Object.entries(sections).flatMap(([name, keys]) => [
      `  <${name} note="a&#10;b">`,
      ...Object.entries(keys).map(
        ([key, { text }]) => `    <${key}>${text}</${key}>${hasComments ? '<!-- note -->' : ''}`,
      ),
      `  </${name}>`,
    ]),
    '</root>',
  ],
};

function flat(made: File): string[] {
  const lines = Object.entries(made.sections).flatMap(([name, keys]) =>
    Object.entries(keys).map(([key, { text }]) => `${name}.${key}=${text}`),
  );
  return made.hasComments ? ['# note', ...lines, 'last=goes on\\', '   here'] : lines;
}

function listed(
  made: File,
  heading: (name: string) => string,
  line: (key: string, one: Standing) => string,
): string[] {
  return Object.entries(made.sections).flatMap(([name, keys]) => [
    ...(made.hasComments ? ['# note'] : []),
    heading(name),
    ...Object.entries(keys).map(([key, one]) => line(key, one)),
    ...(made.isSpaced ? [''] : []),
  ]);
}

function pair({ isSpaced }: File, key: string, text: string): string {
  return isSpaced ? `${key} = ${text}` : `${key}=${text}`;
}

function quoted({ kind, text }: Standing): string {
  return kind === 'text' ? JSON.stringify(text) : text;
}

type Tree = Readonly<Record<string, Readonly<Record<string, unknown>>>>;
type Element = readonly [string, object, string, readonly Element[], string];

/** The content that a reader must find after the edit, from what it found before. */
function expected(one: Case, was: unknown): unknown {
  const { parser, section, key, value: written } = one;
  if (parser === 'file') {
    const start = `${section}.${key}=`;
    return (was as string[]).map((line) => (line.startsWith(start) ? start + written : line));
  }
  if (parser === 'properties') return { ...(was as object), [`${section}.${key}`]: written };
  if (parser === 'xml') return withElement(was as Element, [section, key], written);
  const tree = was as Tree;
  const now = parser === 'ini' ? written : typedAs(one.standing, written);
  return plainNumbers({ ...tree, [section]: { ...tree[section], [key]: now } });
}

function withElement(
  [tag, attributes, text, children, tail]: Element,
  path: readonly string[],
  written: string,
): Element {
  const [name, ...rest] = path;
  if (name === undefined) return [tag, attributes, written, children, tail];
  const known = children.some((child) => child[0] === name);
  const all: readonly Element[] = known ? children : [...children, [name, {}, '', [], '']];
  const changed = all.map((child) =>
    child[0] === name ? withElement(child, rest, written) : child,
  );
  return [tag, attributes, text, changed, tail];
}

/**
 * The type by the promise: a boolean stays one, a number stays a number, text stays text; elsewhere whole numbers are
 * numbers.
 */
function typedAs(now: Standing | null, written: string): unknown {
  const word = written.toLowerCase();
  if (now?.kind === 'boolean' && /^(?:true|yes|on|1)$/.test(word)) return true;
  if (now?.kind === 'boolean' && /^(?:false|no|off|0)$/.test(word)) return false;
  if (now?.kind === 'text') return written;
  const isNumber = now?.kind === 'whole' || now?.kind === 'fraction';
  const form = isNumber
    ? /^[-+]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?$/i
    : /^(?:0|-?[1-9]\d*)$/;
  if (!form.test(written)) return written;
  const isWhole = /^[-+]?\d+$/.test(written) && now?.kind !== 'fraction';
  return { number: written, float: now?.kind === 'fraction' ? true : isWhole ? false : null };
}

function assertReading({ parser }: Case, wanted: unknown, is: unknown, message: string): void {
  assert.equal(hasError(is), false, `${message} ${JSON.stringify(is)}`);
  const shape = parser === 'ini' ? trimmed : plainNumbers;
  assert.deepEqual(shape(is, wanted), shape(wanted, wanted), message);
}

/** The tree without the space around values, which readers drop; not all drop the same of Unicode's. */
function trimmed(tree: unknown): unknown {
  return Object.fromEntries(
    Object.entries(tree as Tree).map(([name, keys]) => [
      name,
      Object.fromEntries(Object.entries(keys).map(([key, text]) => [key, String(text).trim()])),
    ]),
  );
}

/** Numbers by value; whether one is a fraction counts if it is known on the wanted side. */
function plainNumbers(tree: unknown, wanted: unknown = tree): unknown {
  if (typeof tree === 'number') return { number: tree, float: null };
  if (typeof tree !== 'object' || tree === null) return tree;
  if (Array.isArray(tree)) return tree;
  if ('number' in tree && 'float' in tree) {
    const rule = wanted as { readonly float?: boolean | null } | undefined;
    return { number: Number(tree.number), float: rule?.float === null ? null : tree.float };
  }
  const other = typeof wanted === 'object' && wanted !== null ? wanted : {};
  return Object.fromEntries(
    Object.entries(tree).map(([key, inner]) => [
      key,
      plainNumbers(inner, (other as Record<string, unknown>)[key]),
    ]),
  );
}

function hasError(reading: unknown): boolean {
  return typeof reading === 'object' && reading !== null && 'error' in reading;
}

/** One process for all, because it takes longer to start than to read. */
function read(texts: readonly (readonly [Parser, string])[]): readonly unknown[] {
  const { stdout, stderr, status } = spawnSync(
    'python3',
    [join(import.meta.dirname, 'testing/read.py')],
    { input: JSON.stringify(texts), encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
  );
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout) as unknown[];
}
