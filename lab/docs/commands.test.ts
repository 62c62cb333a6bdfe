import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { helpOf, type Mistake, mistakeIn } from '@portcullis/caller/program.ts';
import { PROGRAM } from '@portcullis/cli/program.ts';
import { root } from '../structure/sources.ts';
import { type Mention, readPage, readPages } from './pages.ts';
import { type Rehearsed, rehearse } from './rehearse.ts';
import { TRIALS } from './trials.ts';

const pages = readPages();
/** The form of a sentence that names a command without what it needs. */
const UNFINISHED = [
  'commander.help',
  'commander.missingArgument',
  'commander.missingMandatoryOptionValue',
  'commander.optionMissingArgument',
];
const IN_MESSAGE = /\bportcullis((?: [a-z][a-z-]*)+(?: (?:[A-Z]{2,}|--[a-z-]+))+)(?![\w-])/g;
/** Mentions that are no command: the subject of a mail, and the placeholder of a command. */
const NO_COMMANDS = ['portcullis security', 'portcullis COMMAND --help'];

const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** The fault of a command line of a script, or null. */
async function problemOf({ program, args }: Rehearsed): Promise<string | null> {
  if (program === 'npm') return npmProblemOf(args);
  return (await mistakeIn(PROGRAM, args))?.message ?? null;
}

/** Scripts that do not exist, and filters of tests that fit no file. */
function npmProblemOf(args: readonly string[]): string | null {
  const [verb = '', name = ''] = args;
  if (['ci', 'pack', 'install'].includes(verb)) return null;
  const script = verb === 'run' ? name : verb;
  const at = args.indexOf('-w');
  const { scripts } = JSON.parse(
    read(join(at < 0 ? '.' : (args[at + 1] ?? ''), 'package.json')),
  ) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  if (!Object.hasOwn(scripts, script)) return `no script ${script}`;
  if (script !== 'test' || !args.includes('--')) return null;
  const tests = globSync('*/**/*.test.ts', { cwd: root, exclude: ['node_modules'] });
  const unfit = args
    .slice(args.indexOf('--') + 1)
    .filter((filter) => !tests.some((file) => file.includes(filter)));
  return unfit.length === 0 ? null : `no test fits ${unfit.join(', ')}`;
}

test('every command of every block exists, with its options and arguments', async () => {
  const wrong: string[] = [];
  let count = 0;
  for (const { blocks } of pages) {
    const rehearsed = rehearse(blocks.map(({ text }) => text));
    for (const one of rehearsed) {
      const problem = await problemOf(one);
      const block = blocks[one.script];
      count += 1;
      if (problem !== null)
        wrong.push(
          `${block?.page}:${block?.line}: ${one.program} ${one.args.join(' ')}: ${problem}`,
        );
    }
  }
  assert.deepEqual(wrong, []);
  assert.ok(count > 70, `only ${count}`);
});

test('every command that a sentence or a table names exists, with its options', async () => {
  const wrong: string[] = [];
  let count = 0;
  const commands = pages
    .flatMap(({ mentions }) => mentions)
    .flatMap((mention) => {
      const line = NO_COMMANDS.includes(mention.text) ? null : lineOf(mention.text);
      return line === null ? [] : [{ mention, line }];
    });
  const rehearsed = rehearse(commands.map(({ line }) => `${line}\n`));
  for (const { script, args } of rehearsed) {
    const mistake = await mistakeIn(PROGRAM, args);
    count += 1;
    if (mistake !== null && !isUnfinished(mistake))
      wrong.push(`${placeOf(commands[script]?.mention)}: ${mistake.message}`);
  }
  assert.deepEqual(wrong, []);
  assert.ok(count > 100, `only ${count}`);
});

function placeOf(mention: Mention | undefined): string {
  return `${mention?.page}:${mention?.line}: ${mention?.text}`;
}

/** The command line that a text is, or null. It may lack the word `portcullis` if something follows the command. */
function lineOf(text: string): string | null {
  if (/^(?:sudo )?(?:\.\/)?portcullis\b/.test(text)) return text;
  const [first = '', next = ''] = text.split(' ');
  const isNode = first === 'node' && /^--test|\//.test(next);
  return next !== '' && COMMANDS.has(first) && !isNode ? `portcullis ${text}` : null;
}

test('every command that a message names with a placeholder or an option exists', async () => {
  const sources = globSync(
    '{core,control,agent,edge,collector,node,caller,cli,link,portal/src}/**/*.{ts,tsx}',
    {
      cwd: root,
      exclude: ['**/*.test.ts', '**/node_modules'],
    },
  );
  const wrong: string[] = [];
  let count = 0;
  for (const file of sources)
    for (const [, words = ''] of read(file).matchAll(IN_MESSAGE)) {
      const mistake = await mistakeIn(PROGRAM, words.trim().split(' '));
      count += 1;
      if (mistake !== null && !isUnfinished(mistake))
        wrong.push(`${file}: portcullis${words}: ${mistake.message}`);
    }
  assert.deepEqual(wrong, []);
  assert.ok(count > 20, `only ${count}`);
});

/** Each example in the help says what it does, after two spaces. */
const HELP = helpOf(PROGRAM);
const COMMANDS = new Set(
  [...(HELP[0] ?? '').matchAll(/^ {2}([a-z]+)\b/gm)].map(([, name = '']) => name),
);

function isUnfinished({ code, message }: Mistake): boolean {
  // `service show ROLE`
  return UNFINISHED.includes(code) || /^error: command-argument value '[A-Z]+'/.test(message);
}

test('every example in a help is a command line', async () => {
  const examples = HELP.join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .matchAll(/^ +((?:sudo )?(?:\.\/)?portcullis [a-z].*?)(?: {2,}.*)?$/gm);
  const wrong: string[] = [];
  let count = 0;
  const lines = [...examples].map(([, line = '']) => line);
  for (const one of rehearse(lines.map((line) => `${line}\n`))) {
    const problem = await problemOf(one);
    count += 1;
    if (problem !== null) wrong.push(`${lines[one.script]}: ${problem}`);
  }
  assert.deepEqual(wrong, []);
  assert.ok(count > 60, `only ${count}`);
});

test('every block has a row that says how it is tried, and every row a block', () => {
  const ids = pages.flatMap(({ blocks }) => blocks.map(({ id }) => id));
  assert.deepEqual(ids.toSorted(), [...TRIALS.keys()].toSorted());
  for (const [id, trial] of TRIALS) {
    if (!('test' in trial)) continue;
    assert.ok(existsSync(join(root, trial.test)), `${id}: ${trial.test}`);
    assert.ok(read(trial.test).includes(trial.named), `${trial.test} lacks ${trial.named}`);
  }
});

test('every fence says its language, so that no block of commands is overlooked', () => {
  assert.deepEqual(
    pages.flatMap(({ untagged }) => untagged),
    [],
  );
});

test('reads blocks within lists, long fences and several of a section', () => {
  const page = [
    '# Title',
    '1. Run `portcullis up`:',
    '   ```sh',
    '   # no heading',
    '     portcullis up',
    '   ```',
    '## Next',
    '````md',
    '```sh',
    '````',
    '```sh',
    'a',
    '```',
    '```sh',
    'b',
    '```',
    '```',
  ];
  const { blocks, mentions, untagged } = readPage('x.md', page.join('\n'));
  assert.deepEqual(
    blocks.map(({ id, line, text }) => [id, line, text]),
    [
      ['x.md#Title', 3, '# no heading\n  portcullis up\n'],
      ['x.md#Next', 11, 'a\n'],
      ['x.md#Next (2)', 14, 'b\n'],
    ],
  );
  assert.deepEqual(mentions, [{ page: 'x.md', line: 2, text: 'portcullis up' }]);
  assert.deepEqual(untagged, ['x.md:17']);
});

test('a rehearsal reads as a shell does, and runs nothing', async () => {
  const script = `IP=192.0.2.1; op() { sudo portcullis operator "$@"; }
( cd away && touch ran ) || A=1 ./portcullis drops $IP --watch &
cat <<'END' | op a 'b c' --body -
portcullis not this
END
rm -rf "$PWD"`;
  const said = rehearse([script, 'npm run x && portcullis edge backup']);
  const lines = said.map(({ script: at, program, args }) => [at, program, ...args]);
  assert.deepEqual(
    lines.toSorted((a, b) => String(a).localeCompare(String(b))),
    [
      [0, 'portcullis', 'drops', '192.0.2.1', '--watch'],
      [0, 'portcullis', 'operator', 'a', 'b c', '--body', '-'],
      [1, 'npm', 'run', 'x'],
      [1, 'portcullis', 'edge', 'backup'],
    ],
  );
  assert.match((await mistakeIn(PROGRAM, ['backup', 'create', 'FILE']))?.message ?? '', /too many/);
  assert.throws(() => rehearse(['if true\n']), /syntax error/);
});
