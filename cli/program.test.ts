import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { parseKey } from '@portcullis/core/access/key-format.ts';
import { parseDuration } from '@portcullis/caller/options.ts';
import { CommandSession, RunningCommand } from './testing/run.ts';

const session = new CommandSession({ PATH: process.env['PATH'], HOME: tmpdir() });
after(() => session.close());
const portcullis = (args: readonly string[], env?: NodeJS.ProcessEnv) => session.run(args, env);

test('main.ts exits with the exit code of the command', async () => {
  const running = new RunningCommand(['nope'], { PATH: process.env['PATH'], HOME: tmpdir() });
  const { code, out, err } = await running.end();
  assert.deepEqual([code, out], [2, '']);
  assert.match(err, /^portcullis: unknown command 'nope'/);
});

test('a duration is a positive whole number with a unit, at most a day', () => {
  assert.equal(parseDuration('120s', '--x'), 120_000);
  assert.equal(parseDuration('2m', '--x'), 120_000);
  assert.equal(parseDuration('500ms', '--x'), 500);
  assert.equal(parseDuration('1440m', '--x'), 86_400_000);
  assert.equal(parseDuration('2h', '--x'), 7_200_000);
  for (const wrong of ['', '0s', '120', '1.5s', '-1s', '1441m', '25h', ' 1s', '99999999m']) {
    assert.throws(() => parseDuration(wrong, '--x'), { name: 'CliError', exitCode: 2 });
  }
});

for (const args of [
  [],
  ['nope'],
  ['keys'],
  ['explain'],
  ['drops'],
  ['up', '--nope'],
  ['nope', '--help'],
  ['edges', 'nope', '-h'],
]) {
  test(`a wrong command line exits with 2 and prints nothing on stdout: ${args.join(' ') || 'empty'}`, async () => {
    const { code, out, err } = await portcullis(args);
    assert.equal(code, 2);
    assert.equal(out, '');
    assert.notEqual(err, '');
  });
}

test('invalid options of up exit with 2 before anything is started', async () => {
  const confirm = await portcullis(['up', '--confirm-within', '120s']);
  assert.equal(confirm.code, 2);
  assert.match(confirm.err, /--confirm-within needs --enforce/);
  const listen = await portcullis(['up', '--listen', 'nowhere']);
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
  'collector',
  'collectors',
  'completion',
  'service',
];
for (const command of COMMANDS) {
  test(`--help of ${command} shows an example on stdout and exits with 0`, async () => {
    const { code, out, err } = await portcullis([command, '--help']);
    assert.equal(code, 0);
    assert.equal(err, '');
    assert.match(out, new RegExp(`^ {2}(?:sudo )?portcullis ${command}\\b`, 'm'));
  });
}

test('keys generate prints a new, well-formed key each time', async () => {
  const [first, second] = [
    await portcullis(['keys', 'generate']),
    await portcullis(['keys', 'generate']),
  ];
  assert.equal(parseKey(first.out.trim()).ok, true);
  assert.notEqual(first.out, second.out);
});

test('output that is not on a terminal has no escape codes', async () => {
  const { out, err } = await portcullis(['keys', 'revoke', 'x'], { NO_COLOR: '1' });
  assert.equal(`${out}${err}`.includes('\u001b'), false);
  assert.equal((await portcullis(['nope'])).err.includes('\u001b'), false);
});

test('explain exits with 4 without a key and with 69 without a control plane', async () => {
  const question = ['explain', '192.0.2.1', '--protocol', 'gre', '--from', '192.0.2.2'];
  assert.equal((await portcullis(question)).code, 4);
  const env = { PORTCULLIS_API_KEY: 'pcl_x', PORTCULLIS_URL: 'http://127.0.0.1:1' };
  const { code, out } = await portcullis(question, env);
  assert.equal(code, 69);
  assert.equal(out, '');
});

test('a mistake in a fleet file exits with 1 and is reported with file, line and column', async () => {
  const file = join(import.meta.dirname, 'package.json');
  const { code, out, err } = await portcullis(['fleet', 'plan', file]);
  assert.equal(code, 1);
  assert.equal(out, '');
  assert.match(err, /package\.json:\d+:\d+: /);
});

test('the boot unit holds the data directory and a valid shell script', async () => {
  const { code, out } = await portcullis(['edge', 'boot-unit', '--data', '/srv/per cent%/data']);
  assert.equal(code, 0);
  const [, script = '', state] = /^ExecStart=\/bin\/sh "(.*)" "(.*)"$/m.exec(out) ?? [];
  assert.equal(state, '/srv/per cent%%/data/edge');
  assert.equal(spawnSync('sh', ['-n', script.replaceAll('%%', '%')]).status, 0);
  assert.match(out, /^Before=network-pre\.target/m);
});

for (const shell of ['bash', 'zsh', 'fish']) {
  test(`completion ${shell} names commands and options as they are`, async () => {
    const { code, out } = await portcullis(['completion', shell]);
    assert.equal(code, 0);
    for (const word of ['fleet', 'undo', 'detailed-exitcode']) assert.ok(out.includes(word), word);
  });
}

test('completion bash completes commands of commands', async () => {
  const { out } = await portcullis(['completion', 'bash']);
  const asked =
    'COMP_WORDS=(portcullis edges l); COMP_CWORD=2; _portcullis; echo "${COMPREPLY[@]}"';
  const ran = spawnSync('bash', ['-c', `${out}\n${asked}`]);
  assert.equal(ran.stdout.toString(), 'list\n');
});

test('a data directory that cannot be one is reported in words', async () => {
  // Without root, edge off says first that it needs root.
  const isRoot = process.getuid?.() === 0;
  for (const args of isRoot ? [['up'], ['edge', 'off']] : [['up']]) {
    const { code, err } = await portcullis([...args, '--data', '/etc/passwd/x']);
    assert.equal(code, 1);
    assert.match(err, /^portcullis: \/etc\/passwd\/x.* cannot be used: a part of it is a file/);
  }
});
