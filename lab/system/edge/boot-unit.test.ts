import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { BOOT_SCRIPT } from '@portcullis/edge/boot/unit.ts';
import { type Program, readableProgram } from '@portcullis/link/program/readable-program.ts';
import { skipUnless } from '../../requirements.ts';
import { DiscardedRoot, type Ended } from '../../stack/discarded-root.ts';

const MAIN = join(import.meta.dirname, '..', '..', '..', 'cli', 'main.ts');
const UNIT = '/etc/systemd/system/portcullis-boot.service';
const ENABLED = '/etc/systemd/system/sysinit.target.wants/portcullis-boot.service';
const DATA = '/var/lib/portcullis';

const whyNot = skipUnless(['root', 'systemd']);

describe('the unit for a boot, on a host with systemd', { skip: whyNot }, () => {
  const root = new DiscardedRoot();
  let readable: Program;
  before(() => {
    readable = readableProgram();
    return root.make();
  });
  after(async () => {
    await root.destroy();
    for (const path of [UNIT, ENABLED]) assert.equal(existsSync(path), false, 'of this machine');
  });

  const bootUnit = (...args: readonly string[]): Ended =>
    root.run(process.execPath, MAIN, 'edge', 'boot-unit', '--data', DATA, ...args);
  const isThere = (path: string): boolean => root.run('test', '-e', path).status === 0;
  const isEnabled = (): string => root.run('systemctl', 'is-enabled', basename(UNIT)).said.trim();
  const modified = (): string => root.run('stat', '-c', '%y', UNIT).said;

  it('is written as it is shown, for everybody to read, enabled, and what systemd takes for right', () => {
    const { status, said } = bootUnit('--install');
    assert.equal(status, 0, said);
    assert.match(said, /is enabled/);
    assert.equal(root.run('cat', UNIT).said, bootUnit().said);
    assert.equal(root.run('stat', '-c', '%a %U', UNIT).said, '644 root\n');
    assert.equal(isEnabled(), 'enabled');
    assert.ok(isThere(ENABLED), 'it runs with sysinit.target');
    assert.deepEqual(root.run('systemd-analyze', 'verify', UNIT), { status: 0, said: '' });
  });

  it('names a script that is there, and a state directory that need not be', () => {
    const [, script, state] = /^ExecStart=\/bin\/sh "(.*)" "(.*)"$/m.exec(bootUnit().said) ?? [];
    assert.deepEqual([script, state], [BOOT_SCRIPT, `${DATA}/edge`]);
    const { status, said } = root.run('sh', BOOT_SCRIPT, `${DATA}/edge`);
    assert.equal(status, 0);
    assert.match(said, /nothing is loaded/);
  });

  it('stays as it is when it is installed again, and takes up another data directory', () => {
    bootUnit('--install');
    const before = modified();
    assert.equal(bootUnit('--install').status, 0);
    assert.equal(modified(), before);
    assert.equal(bootUnit('--install', '--data', '/srv/per cent% $x').status, 0);
    assert.match(root.run('cat', UNIT).said, /^ExecStart=.* "\/srv\/per cent%% \$\$x\/edge"$/m);
    assert.deepEqual(root.run('systemd-analyze', 'verify', UNIT), { status: 0, said: '' });
    assert.equal(isEnabled(), 'enabled');
  });

  it('is enabled again, and whole again, after half an installation', () => {
    root.run('sh', '-c', `rm -f ${ENABLED}; echo '[Unit]' > ${UNIT}`);
    assert.equal(bootUnit('--install').status, 0);
    assert.equal(root.run('cat', UNIT).said, bootUnit().said);
    assert.equal(isEnabled(), 'enabled');
  });

  it('is taken away whole, and that again is no failure', () => {
    bootUnit('--install');
    const { status, said } = bootUnit('--uninstall');
    assert.equal(status, 0, said);
    assert.deepEqual([isThere(UNIT), isThere(ENABLED)], [false, false]);
    assert.equal(bootUnit('--uninstall').status, 0);
  });

  it('is refused where a path would be another setting, where nothing may be written, and without systemd', () => {
    const injected = bootUnit('--install', '--data', '/srv/x"\nExecStart=/bin/evil\n"');
    assert.equal(injected.status, 2);
    assert.equal(isThere(UNIT), false);
    // Which this account may read, wherever the checkout is.
    const { root: program, node } = readable;
    const main = join(program, 'cli', 'main.ts');
    const command = [node, main, 'edge', 'boot-unit', '--install', '--data', DATA];
    const unprivileged = root.run('setpriv', '--reuid=65534', '--clear-groups', ...command);
    assert.equal(unprivileged.status, 1);
    assert.match(unprivileged.said, /run this as root/);
    assert.equal(isThere(UNIT), false);
    root.run('mv', '/etc/systemd/system', '/etc/systemd/elsewhere');
    const without = bootUnit('--install');
    root.run('mv', '/etc/systemd/elsewhere', '/etc/systemd/system');
    assert.equal(without.status, 1);
    assert.match(without.said, /this host has no systemd/);
  });
});
