import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { positionsIn } from '@portcullis/core/yaml/parse-yaml.ts';
import fc from 'fast-check';
import { MistakeList } from '../mistakes.ts';
import { Places } from './places.ts';
import { readPlainYaml } from './plain-yaml.ts';
import { escapePointer, locateAnyYaml } from './yaml-source.ts';

/** Everything that a text means: each value with its position and that of its name, by its pointer. */
function describe(value: unknown, places: Places): unknown[] {
  const all: unknown[] = [];
  const visit = (one: unknown, pointer: string): void => {
    const isNest = typeof one === 'object' && one !== null;
    all.push([
      pointer,
      isNest ? Array.isArray(one) : one,
      places.of(pointer),
      places.ofName(pointer),
    ]);
    if (!isNest) return;
    for (const [name, member] of Object.entries(one)) {
      visit(member, `${pointer}/${escapePointer(name)}`);
    }
  };
  visit(value, '');
  return all;
}

/** Reads a text both ways, which must agree. Returns whether it was plain. */
function isPlain(text: string): boolean {
  const plain = readPlainYaml(text, (written) => written);
  if (plain === null) return false;
  const mistakes = new MistakeList('fleet.yaml');
  const whole = locateAnyYaml(text, {}, mistakes);
  assert.ok(whole !== null && mistakes.empty, JSON.stringify([text, mistakes.list()]));
  const places = new Places(plain.place, positionsIn(text));
  assert.deepEqual(describe(plain.value, places), describe(whole.value, whole.places), text);
  return true;
}

const SCALARS = [
  'allow',
  '1000',
  '0',
  'true',
  'false',
  '"22,80-90"',
  "'::/0'",
  '""',
  '11.0.0.1',
  '10.0.0.0/8',
  '2001:db8::1/64',
  '7000-7010',
  '2026-01-01T00:00:00+00:00',
  '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11',
  '/var/lib/x',
  'a b',
  'a#b',
  'it"s',
  'Überlingen',
  'http://x.example:80/y',
] as const;
const NAMES = ['name', 'rules', 'x-1', 'a.b', 'constructor', '__proto__', 'A', 'e1'] as const;

type Drawn =
  | { readonly kind: 'scalar'; readonly text: string }
  | { readonly kind: 'map' | 'flow-map'; readonly members: readonly (readonly [string, Drawn])[] }
  | { readonly kind: 'list' | 'flow-list'; readonly items: readonly Drawn[] };

const names = fc.uniqueArray(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 4 });
const { drawn } = fc.letrec<{ scalar: Drawn; flow: Drawn; block: Drawn; drawn: Drawn }>((tie) => ({
  scalar: fc.record({ kind: fc.constant('scalar'), text: fc.constantFrom(...SCALARS) }),
  flow: fc.oneof(
    { maxDepth: 3 },
    tie('scalar'),
    fc
      .tuple(names, fc.array(tie('flow'), { minLength: 4, maxLength: 4 }))
      .map(([all, values]): Drawn => ({ kind: 'flow-map', members: pairs(all, values) })),
    fc.array(tie('flow'), { maxLength: 3 }).map((items): Drawn => ({ kind: 'flow-list', items })),
  ),
  block: fc.oneof(
    fc
      .tuple(names, fc.array(tie('drawn'), { minLength: 4, maxLength: 4 }))
      .map(([all, values]): Drawn => ({ kind: 'map', members: pairs(all, values) })),
    fc
      .array(tie('drawn'), { minLength: 1, maxLength: 3 })
      .map((items): Drawn => ({ kind: 'list', items })),
  ),
  drawn: fc.oneof({ maxDepth: 3 }, tie('flow'), tie('block')),
}));
const documents = fc
  .array(drawn, { minLength: 4, maxLength: 4 })
  .chain((values) => names.map((all): Drawn => ({ kind: 'map', members: pairs(all, values) })));

function pairs(all: readonly string[], values: readonly Drawn[]): (readonly [string, Drawn])[] {
  return all.map((name, at) => [name, values[at] as Drawn] as const);
}

/** Turns of the writer: what people do differently. */
const TURNS = fc.infiniteStream(fc.nat({ max: 11 }));

class Writer {
  readonly #turns: Iterator<number>;

  constructor(turns: Iterable<number>) {
    this.#turns = turns[Symbol.iterator]();
  }

  /** A value behind a name or a dash, with the end of its line. `column`: of the name or dash. */
  behind(value: Drawn, column: number, isItem: boolean): string {
    if (value.kind === 'map' && isItem && this.#is(8)) {
      const spaces = 1 + this.#pick(2);
      return `${' '.repeat(spaces)}${this.block(value, column + 1 + spaces).trimStart()}`;
    }
    if (value.kind === 'map' || value.kind === 'list') {
      const isSame = value.kind === 'list' && !isItem && this.#is(6);
      const inner = column + (isSame ? 0 : 1 + this.#pick(4));
      if (isItem) {
        const spaces = 1 + this.#pick(2);
        return `${' '.repeat(spaces)}${this.block(value, column + 1 + spaces).trimStart()}`;
      }
      return `${this.#end()}${this.block(value, inner)}`;
    }
    return ` ${' '.repeat(this.#pick(2))}${this.flow(value, column)}${this.#end()}`;
  }

  block(value: Drawn, column: number): string {
    const indent = ' '.repeat(column);
    if (value.kind === 'map')
      return value.members
        .map(([name, member]) => `${indent}${name}:${this.behind(member, column, false)}`)
        .join('');
    if (value.kind === 'list')
      return value.items.map((item) => `${indent}-${this.behind(item, column, true)}`).join('');
    throw new Error('no block');
  }

  flow(value: Drawn, column: number): string {
    const gap = (): string =>
      this.#is(1) ? `\n${' '.repeat(column + 1 + this.#pick(3))}` : ' '.repeat(this.#pick(2));
    const all = (open: string, close: string, items: readonly string[]): string => {
      const last = items.length > 0 && this.#is(2) ? ',' : '';
      return `${open}${gap()}${items.join(`,${gap()}`)}${last}${gap()}${close}`;
    };
    if (value.kind === 'scalar') return value.text;
    if ('members' in value)
      return all(
        '{',
        '}',
        value.members.map(([name, one]) => `${name}: ${this.flow(one, column)}`),
      );
    return all(
      '[',
      ']',
      value.items.map((one) => this.flow(one, column)),
    );
  }

  #end(): string {
    const comment = this.#is(2) ? ` # a: [b, "c` : '';
    const spaces = ' '.repeat(this.#is(2) ? 2 : 0);
    const lines = this.#is(2) ? `\n  # more: - x` : '';
    const blank = this.#is(2) ? '\n   ' : '';
    return `${comment}${spaces}${lines}${blank}\n`;
  }

  #is(share: number): boolean {
    return this.#next() < share;
  }

  #pick(many: number): number {
    return this.#next() % many;
  }

  #next(): number {
    return this.#turns.next().value as number;
  }
}

const texts = fc
  .tuple(documents, TURNS)
  .map(([document, turns]) => new Writer(turns).block(document, 0));

const ROOT = join(import.meta.dirname, '..', '..', '..', '..');

test('reads the fleet files that are shipped', () => {
  for (const file of ['examples/fleet.yaml', 'deploy/fleet.example.yaml'])
    assert.ok(isPlain(readFileSync(join(ROOT, file), 'utf8')), file);
});

test('leaves what is longer or deeper than people write to the library', () => {
  const long = 'a'.repeat(5_000);
  for (const text of [
    `a: ${long}`,
    `a: "${long}"`,
    `a: [${long}, b]`,
    `${long}: a`,
    `a: '${long}'`,
  ])
    assert.equal(isPlain(`${text}\n`), false);
  assert.equal(readPlainYaml('- '.repeat(10_000), String), null);
});

test('reads what fleet files are made of as the library does, with positions', () => {
  fc.assert(
    fc.property(texts, (text) => assert.ok(isPlain(text), text)),
    { numRuns: 500 },
  );
});

test('reads as the library does or not at all, whatever is changed in a text', () => {
  const pieces = [
    ...' \n:-,#[]{}&*!|>\'"%@`?~.0a'.split(''),
    '  ',
    ': ',
    ' #',
    '\n  ',
    '- ',
    '---\n',
    '...\n',
    'null',
    '<<: ',
    '\n\n',
    '\u00a0',
    '\u2028',
    '1e3',
    '0x1',
    '+1',
    'é',
  ];
  const change = fc.tuple(fc.nat(), fc.nat({ max: 3 }), fc.constantFrom('', ...pieces));
  let plain = 0;
  fc.assert(
    fc.property(texts, fc.array(change, { minLength: 1, maxLength: 3 }), (text, changes) => {
      let changed = text;
      for (const [place, removed, added] of changes) {
        const at = place % (changed.length + 1);
        changed = changed.slice(0, at) + added + changed.slice(at + removed);
      }
      if (isPlain(changed)) plain += 1;
    }),
    { numRuns: 3_000 },
  );
  assert.ok(plain > 250, `${plain} of 3000`);
});

test('reads as the library does or not at all, any text of such pieces', () => {
  const piece = fc.constantFrom(
    'a',
    'b: ',
    'c:\n',
    '\n',
    ' ',
    '  ',
    '- ',
    '{',
    '}',
    '[',
    ']',
    ', ',
    '1',
    '"x"',
    "'y'",
    ' # z',
    'true',
    '.',
    'd: e\n',
    '-',
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
      isPlain(pieces.join(''));
    }),
    { numRuns: 10_000 },
  );
});
