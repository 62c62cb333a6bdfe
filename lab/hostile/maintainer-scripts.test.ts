import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';

const PACKAGING = join(import.meta.dirname, '..', '..', 'cli', 'packaging');
/** Calls as dpkg calls them with: https://www.debian.org/doc/debian-policy/ch-maintainerscripts.html */
const CALLS = [
  ['postinst', 'configure', ''],
  ['postinst', 'abort-upgrade', '1.0'],
  ['prerm', 'remove'],
  ['prerm', 'upgrade', '2.0'],
  ['postrm', 'remove'],
  ['postrm', 'purge'],
  ['postrm', 'upgrade', '2.0'],
] as const;
/** Code that was compiled at a start. */
const COMPILED = '/usr/lib/portcullis/node_modules/.cache';
const OWN = ['/var/lib/portcullis', '/etc/portcullis'];

test('the scripts of the package touch nothing but what is its own, wherever and however they are called', (t) => {
  const { run } = shims(t);
  const removed: string[][] = [];
  for (const [script, ...args] of CALLS) {
    const done = run(script, args);
    for (const [program = '', ...given] of done) {
      if (program === 'rm') removed.push([script, args[0], ...given]);
      else if (program === 'systemctl')
        assert.match(given.join(' '), /^try-restart portcullis-\w+\.service$/);
      else if (program === 'adduser') assert.equal(given.at(-1), 'portcullis');
      else assert.equal(program, 'getent', `${script} ${args.join(' ')} runs ${program}`);
    }
  }
  assert.deepEqual(removed, [
    ['prerm', 'remove', '-rf', COMPILED],
    ['prerm', 'upgrade', '-rf', COMPILED],
    ['postrm', 'purge', '-rf', ...OWN],
  ]);
});

test('the scripts of the package use no word of their environment', () => {
  for (const script of ['postinst', 'prerm', 'postrm']) {
    const text = readFileSync(join(PACKAGING, script), 'utf8');
    const known = new Set(['1', 'role']);
    for (const [, name = ''] of text.matchAll(/\$\{?(\w+)/g))
      assert.ok(known.has(name), `${script} uses $${name}`);
    // In quotes wherever it stands, so that it is one word and no pattern.
    assert.doesNotMatch(text.replaceAll(/"[^"]*"/g, '""'), /\$|`/, script);
  }
});

/** A PATH of programs that write down how they are called, in a folder with names like options and patterns. */
function shims(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-maintainer-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [bin, cwd, calls] = [join(folder, 'bin'), join(folder, 'cwd'), join(folder, 'calls')];
  for (const path of [bin, cwd]) mkdirSync(path);
  for (const name of ['-rf', '*', 'configure', 'portcullis-up.service'])
    writeFileSync(join(cwd, name), '');
  for (const program of [
    'rm',
    'systemctl',
    'adduser',
    'getent',
    'userdel',
    'chown',
    'chmod',
    'find',
  ]) {
    const write = `{ printf '%s\\0' ${program} "$@"; echo; } >>'${calls}'`;
    // There is no such account yet, so that it is created.
    const status = program === 'getent' ? 'exit 2' : '';
    writeFileSync(join(bin, program), `#!/bin/sh\n${write}\n${status}\n`, { mode: 0o755 });
  }
  const run = (script: string, args: readonly string[]): string[][] => {
    writeFileSync(calls, '');
    const env = { PATH: bin, role: '/', DPKG_ROOT: '/', IFS: 'p' };
    const ran = spawnSync('/bin/sh', [join(PACKAGING, script), ...args], { cwd, env });
    assert.equal(ran.status, 0, `${script} ${args.join(' ')}: ${ran.stderr.toString()}`);
    return readFileSync(calls, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split('\0').filter(Boolean));
  };
  return { run };
}
