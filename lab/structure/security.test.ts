import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '..', '..');
const ATTACKERS = [
  'Stranger',
  'Tenant',
  'Member',
  'Removed member',
  'Local user',
  'Game',
  'Install',
  'Edge',
  'Node',
  'Collector',
  'Exporter',
  'Replica',
  'NATS server',
  'Database',
  'Load balancer',
];
const ASSETS = ['data', 'packets', 'availability', 'host', 'secrets'];
/** A line that says so needs no test. */
const WITHOUT_TEST = /^(?:Trusted|Not promised): |^As (?:a|an|the) /;
/** Names of tests, suites and subtests. A name may begin in the line below. */
const TITLE = /\b(?:test|it|describe|suite)\(\s*(?:'((?:[^'\\]|\\.)*)'|"([^"]*)"|`([^`]*)`)/g;

interface Line {
  readonly against: string;
  readonly heldBy: string;
  /** Each a path and a part of a test's name. */
  readonly shownBy: readonly string[];
}

const text = readFileSync(join(ROOT, 'SECURITY.md'), 'utf8');

/** The part below a heading, up to the next of its level. */
function sectionOf(heading: string): string {
  const [, after] = text.split(`\n${heading}\n`, 2);
  assert.ok(after !== undefined, `SECURITY.md has no ${heading}`);
  return after.split(/\n## /, 1)[0] ?? '';
}

function linesOf(section: string): Line[] {
  const rows = section.split('\n').filter((line) => line.startsWith('| '));
  // The first is the title.
  return rows.slice(1).map((row) => {
    const [, against = '', heldBy = '', shown = ''] = row.split('|').map((cell) => cell.trim());
    return { against, heldBy, shownBy: shown === '-' ? [] : shown.split('<br>') };
  });
}

const TABLES = sectionOf('## Threat table')
  .split('\n### ')
  .slice(1)
  .map((part) => ({ attacker: part.split('\n', 1)[0] ?? '', lines: linesOf(part) }));
const ALL = [
  ...TABLES.flatMap(({ lines }) => lines),
  ...linesOf(sectionOf('## Mistakes of the operator')),
];

test('the threat table says for every attacker what holds each of five things', () => {
  assert.deepEqual(
    TABLES.map(({ attacker }) => attacker),
    ATTACKERS,
  );
  for (const { attacker, lines } of TABLES) {
    assert.deepEqual(
      [...new Set(lines.map(({ against }) => against))],
      ASSETS,
      `${attacker}: a line for each, in this order`,
    );
  }
});

test('every line of the threat table names tests, and each of them is there', () => {
  const titles = new Map<string, readonly string[]>();
  let named = 0;
  for (const { heldBy, shownBy } of ALL) {
    assert.ok(shownBy.length > 0 || WITHOUT_TEST.test(heldBy), `no test is named: ${heldBy}`);
    for (const shown of shownBy) {
      const [, path = '', name = ''] = /^`([\w./-]+\.ts)`: (\S.{8,})$/.exec(shown) ?? [];
      assert.ok(path !== '', `is not like \`PATH.test.ts\`: name of a test: ${shown}`);
      assert.ok(existsSync(join(ROOT, path)), `${path} is gone`);
      const known = titles.get(path) ?? titlesIn(path);
      titles.set(path, known);
      assert.ok(
        known.some((title) => title.includes(name)),
        `${path} has no test "${name}"`,
      );
      named += 1;
    }
  }
  assert.ok(named > 120, `${named} tests`);
});

test('every file of lab/hostile is named in the threat table', () => {
  const files = globSync('lab/hostile/**/*.test.ts', { cwd: ROOT });
  const named = new Set(ALL.flatMap(({ shownBy }) => shownBy.map((one) => one.split('`')[1])));
  assert.deepEqual(
    files.filter((file) => !named.has(file)),
    [],
  );
});

function titlesIn(path: string): string[] {
  const source = readFileSync(join(ROOT, path), 'utf8');
  return [...source.matchAll(TITLE)].map(([, plain, double, template]) =>
    (plain ?? double ?? template ?? '').replaceAll("\\'", "'"),
  );
}
