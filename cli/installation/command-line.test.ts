import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { commandLine, quote } from './command-line.ts';

test('a printed command names its installation, unless that is the default of root', () => {
  const words = ['edge', 'off'];
  assert.match(commandLine(words), /portcullis edge off$/);
  assert.match(commandLine(words, { dataDir: '/var/lib/portcullis' }), /portcullis edge off$/);
  assert.match(
    commandLine(['servers', 'list'], { url: 'https://p.example' }),
    /list --url https\S+example$/,
  );
  assert.match(commandLine(words, { dataDir: '/srv/p' }), /portcullis edge off --data \/srv\/p$/);
});

test('a printed command survives a shell, whatever the path is', () => {
  for (const word of ['/srv/a b', "/srv/it's", '/srv/$(id)', '/srv/`id`;', '', '~x', 'plain'])
    assert.equal(
      execFileSync('sh', ['-c', `printf %s ${quote(word)}`], { encoding: 'utf8' }),
      word,
    );
});
