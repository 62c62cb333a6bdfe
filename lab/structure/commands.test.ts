import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Known } from './commands-process.ts';
import { production, root } from './sources.ts';

/** The command in code of a document: a span, or a line of a block. */
const IN_DOCUMENTS = /(?:`|^)(?:sudo )?(?:\.\/)?portcullis((?: [a-z][a-z-]*)+(?: [A-Z]+\b)*)/gm;
/** The command in quotes in a sentence of a program. */
const IN_SENTENCES = /"(?:sudo )?(?:\.\/)?portcullis((?: [a-z][a-z-]*)+(?: [A-Z]+\b)*)/g;

test('every command that a document or a message names is one', () => {
  const commands = readCommands();
  const documents = globSync(['*.md', 'docs/**/*.md', 'deploy/**/*.md'], { cwd: root });
  const named = [
    ...documents.flatMap((file) => commandsIn(file, IN_DOCUMENTS)),
    ...production.flatMap((file) => commandsIn(file, IN_SENTENCES)),
  ];
  assert.ok(named.length > 100);
  const wrong = named.filter(({ words }) => !isCommand(words, commands));
  assert.deepEqual(wrong, []);
});

type Commands = ReadonlyMap<string, Known>;

/** By another process: the command opens the standard streams of its own. */
function readCommands(): Commands {
  const file = join(import.meta.dirname, 'commands-process.ts');
  const lines = execFileSync(process.execPath, [file], { encoding: 'utf8' }).trim().split('\n');
  const commands = lines.map((line) => JSON.parse(line) as Known);
  return new Map(commands.map((command) => [command.name, command]));
}

function commandsIn(file: string, pattern: RegExp): { file: string; words: string }[] {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(pattern)].map(([, words = '']) => ({ file, words: words.trim() }));
}

/** Whether these words lead to a command that takes the rest of them as arguments. */
function isCommand(words: string, commands: Commands): boolean {
  const rest = words.split(' ');
  let command = commands.get('');
  while (command?.isGroup === true && rest.length > 0)
    command = commands.get(`${command.name} ${rest.shift()}`.trim());
  return command !== undefined && rest.length <= (command.takes ?? Infinity);
}
