import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { skipUnless } from '../../requirements.ts';
import { BootedRoot } from '../../stack/booted-root.ts';
import type { Ended } from '../../stack/discarded-root.ts';
import { eventually } from '../stack-fixture.ts';

const LAUNCHER = join(import.meta.dirname, '..', '..', '..', 'portcullis');
const DATA = '/srv/portcullis';
const START_MS = 120_000;
const READY = 'http://127.0.0.1:8080/readyz';

describe('the units of the roles, run by systemd', {
  skip: skipUnless(['booted-systemd', 'netns', 'nft', 'postgres']),
}, () => {
  const root = new BootedRoot();
  const run = (...command: readonly string[]): Ended => root.run(...command);
  const service = (...args: readonly string[]): string => {
    const { status, said } = run(LAUNCHER, 'service', ...args);
    assert.equal(status, 0, said);
    return said;
  };
  const property = (role: string, name: string): string =>
    run('systemctl', 'show', '--value', `--property=${name}`, `portcullis-${role}`).said.trim();
  const isReady = async (): Promise<boolean> =>
    run('curl', '-sf', '--max-time', '5', READY).status === 0;
  before(() => root.boot());
  after(() => root.destroy());

  it('up: runs, is started again when it is killed, and ends whole', async () => {
    service('install', 'up', '--', '--data', DATA, '--enforce');
    await eventually('it is ready', isReady, START_MS);
    const pid = property('up', 'MainPID');
    await eventually('it enforces', async () => hasTable(), START_MS);
    run('kill', '-KILL', pid);
    await eventually(
      'another runs',
      async () => !['0', pid].includes(property('up', 'MainPID')),
      START_MS,
    );
    await eventually('it is ready again', isReady, START_MS);
    service('uninstall', 'up');
    assert.equal(property('up', 'LoadState'), 'not-found');
    assert.equal(run('pgrep', '-f', DATA).status, 1, 'no process is left');
    assert.equal(hasTable(), true, 'the kernel continues to enforce');
  });

  it('control, edge, node and collector: run beside each other, and stop with systemctl', async () => {
    service('install', 'control', '--', '--data', DATA);
    await eventually('control is ready', isReady, START_MS);
    service('install', 'edge', '--', '--data', DATA, '--enforce');
    service('install', 'node', '--', '--data', DATA, '--engine', 'process');
    service('install', 'collector', '--', '--listen', '127.0.0.1:6343', '--exporter', '192.0.2.1');
    const list = (what: string): string =>
      run(LAUNCHER, what, 'list', '--json', '--data', DATA).said;
    await eventually(
      'the edge is in service',
      async () => list('edges').includes('"in_service": true'),
      START_MS,
    );
    await eventually(
      'the node is connected',
      async () => list('nodes').includes('"connected": true'),
      START_MS,
    );
    for (const role of ['control', 'edge', 'node', 'collector']) {
      assert.equal(property(role, 'ActiveState'), 'active', role);
      assert.equal(property(role, 'NRestarts'), '0', role);
    }
    for (const role of ['collector', 'node', 'edge', 'control']) {
      assert.equal(run('systemctl', 'stop', `portcullis-${role}`).status, 0);
      assert.equal(property(role, 'Result'), 'success', role);
    }
  });

  it('edge join: installs its service, and says when it is live', async () => {
    assert.equal(run('systemctl', 'start', 'portcullis-control').status, 0);
    await eventually('control is ready', isReady, START_MS);
    const token = ['tokens', 'create', 'edge', '--name', 'local', '--data', DATA, '--json'];
    const [, made = ''] = /"token": "([^"]+)"/.exec(run(LAUNCHER, ...token).said) ?? [];
    const join = ['edge', 'join', 'http://127.0.0.1:8080', made, '--data', DATA, '--enforce'];
    const { status, said } = run(LAUNCHER, ...join, '--replace');
    assert.equal(status, 0, said);
    assert.match(said, /portcullis-edge\.service is enabled and runs/);
    assert.match(said, /local is live, [0-9.]+ s after its start/);
    const unit = run('systemctl', 'cat', 'portcullis-edge').said;
    assert.match(
      unit,
      /"--data" "\/srv\/portcullis" "--enforce"$|"--enforce" "--data" "\/srv\/portcullis"$/m,
    );
    for (const role of ['edge', 'control']) run('systemctl', 'stop', `portcullis-${role}`);
  });

  function hasTable(): boolean {
    return run('nft', 'list', 'tables').said.includes('inet portcullis');
  }
});
