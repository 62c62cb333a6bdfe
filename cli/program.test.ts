import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseKey } from '@portcullis/core/access/key-format.ts';
import { parseDuration } from './options.ts';

const MAIN = join(import.meta.dirname, 'main.ts');

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function portcullis(args: readonly string[], env: NodeJS.ProcessEnv = {}): Ran {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: tmpdir(), ...env },
    timeout: 30_000,
  });
  return { code: status, out: stdout, err: stderr };
}

test('a duration is a whole number with a unit, more than nothing and at most a day', () => {
  assert.equal(parseDuration('120s', '--x'), 120_000);
  assert.equal(parseDuration('2m', '--x'), 120_000);
  assert.equal(parseDuration('500ms', '--x'), 500);
  assert.equal(parseDuration('1440m', '--x'), 86_400_000);
  for (const wrong of ['', '0s', '120', '1.5s', '-1s', '1441m', '1h', ' 1s', '99999999m']) {
    assert.throws(() => parseDuration(wrong, '--x'), { name: 'CliError', exitCode: 2 });
  }
});

for (const args of [[], ['nope'], ['keys'], ['explain'], ['drops'], ['up', '--nope']]) {
  test(`a wrong command line is exit code 2 with nothing on stdout: ${args.join(' ') || 'empty'}`, () => {
    const { code, out, err } = portcullis(args);
    assert.equal(code, 2);
    assert.equal(out, '');
    assert.notEqual(err, '');
  });
}

test('options that contradict each other are exit code 2 before anything is started', () => {
  const confirm = portcullis(['up', '--confirm-within', '120s']);
  assert.equal(confirm.code, 2);
  assert.match(confirm.err, /--confirm-within needs --enforce/);
  const listen = portcullis(['up', '--listen', 'nowhere']);
  assert.equal(listen.code, 2);
  assert.match(listen.err, /--listen: "nowhere" is not HOST:PORT/);
});

const COMMANDS = [
  'up',
  'control',
  'edge',
  'node',
  'servers',
  'edges',
  'nodes',
  'fleet',
  'keys',
  'explain',
  'drops',
];
for (const command of COMMANDS) {
  test(`--help of ${command} shows an example, on stdout, as exit code 0`, () => {
    const { code, out, err } = portcullis([command, '--help']);
    assert.equal(code, 0);
    assert.equal(err, '');
    assert.match(out, new RegExp(`^ {2}(?:sudo )?portcullis ${command}\\b`, 'm'));
  });
}

test('a generated key is well formed, and new every time', () => {
  const [first, second] = [portcullis(['keys', 'generate']), portcullis(['keys', 'generate'])];
  assert.equal(parseKey(first.out.trim()).ok, true);
  assert.notEqual(first.out, second.out);
});

test('what is not on a terminal has no escape codes', () => {
  const { out, err } = portcullis(['keys', 'revoke', 'x'], { NO_COLOR: '1' });
  assert.equal(`${out}${err}`.includes('\u001b'), false);
  assert.equal(portcullis(['nope']).err.includes('\u001b'), false);
});

test('explain without a key is exit code 2; without a control plane 69', () => {
  const question = ['explain', '192.0.2.1', '--protocol', 'gre', '--from', '192.0.2.2'];
  assert.equal(portcullis(question).code, 2);
  const env = { PORTCULLIS_API_KEY: 'pcl_x', PORTCULLIS_URL: 'http://127.0.0.1:1' };
  const { code, out } = portcullis(question, env);
  assert.equal(code, 69);
  assert.equal(out, '');
});

test('a fleet file with a mistake is exit code 1 and named by file, line and column', () => {
  const file = join(import.meta.dirname, 'package.json');
  const { code, out, err } = portcullis(['fleet', 'plan', file]);
  assert.equal(code, 1);
  assert.equal(out, '');
  assert.match(err, /package\.json:\d+:\d+: /);
});

test('the unit for the boot names the data directory and a script that is there', () => {
  const { code, out } = portcullis(['edge', 'boot-unit', '--data', '/srv/per cent%/data']);
  assert.equal(code, 0);
  const [, script = '', state] = /^ExecStart=\/bin\/sh "(.*)" "(.*)"$/m.exec(out) ?? [];
  assert.equal(state, '/srv/per cent%%/data/edge');
  assert.equal(spawnSync('sh', ['-n', script.replaceAll('%%', '%')]).status, 0);
  assert.match(out, /^Before=network-pre\.target/m);
});
