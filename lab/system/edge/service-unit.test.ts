import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { skipUnless } from '../../requirements.ts';
import { DiscardedRoot, type Ended } from '../../stack/discarded-root.ts';

const MAIN = join(import.meta.dirname, '..', '..', '..', 'cli', 'main.ts');
const unitOf = (role: string): string => `/etc/systemd/system/portcullis-${role}.service`;

describe('the units of the roles, on a host with systemd', {
  skip: skipUnless(['root', 'systemd']),
}, () => {
  const root = new DiscardedRoot();
  const service = (...args: readonly string[]): Ended =>
    root.run(process.execPath, MAIN, 'service', ...args);
  before(() => root.make());
  after(async () => {
    await root.destroy();
    assert.equal(existsSync(unitOf('up')), false, 'of this machine');
  });

  for (const role of ['up', 'control', 'edge', 'node', 'collector']) {
    it(`${role}: is enabled, what systemd takes for right, and taken away whole`, () => {
      const installed = service('install', role, '--', '--data', '/srv/per cent% $x');
      assert.equal(installed.status, 0, installed.said);
      const unit = unitOf(role);
      const name = `portcullis-${role}.service`;
      assert.equal(root.run('systemctl', 'is-enabled', name).said.trim(), 'enabled');
      assert.deepEqual(root.run('systemd-analyze', 'verify', unit), { status: 0, said: '' });
      const text = root.run('cat', unit).said;
      assert.match(text, /^ExecStart=".*\/portcullis" "\w+" "--data" "\/srv\/per cent%% \$\$x"$/m);
      assert.equal(text, service('show', role, '--', '--data', '/srv/per cent% $x').said);
      assert.equal(service('uninstall', role).status, 0);
      assert.equal(root.run('test', '-e', unit).status, 1);
      assert.match(service('uninstall', role).said, /does not exist/);
    });
  }

  it('is refused for what is no role, and where an option would be another setting', () => {
    assert.equal(service('install', 'edges').status, 2);
    assert.equal(service('install', 'up', '--', 'x\nExecStart=/bin/evil').status, 2);
    assert.equal(root.run('test', '-e', unitOf('up')).status, 1);
  });
});
