import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { skipUnless } from '../requirements.ts';
import { BootedRoot } from '../stack/booted-root.ts';
import { eventually } from '../system/stack-fixture.ts';
import { lacksCommit, programOf } from '../system/upgrade/then.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..');
const START_MS = 120_000;
const MAIN_PID = 'systemctl show --value --property=MainPID';
/** A commit, from whose data people upgrade. */
const OLDER = 'f433ab77';
const READY = 'http://127.0.0.1:8080/readyz';

/** The output of `up --json`. */
interface Started {
  readonly keys: readonly { readonly key: string }[];
  readonly addresses: readonly string[];
}

describe('the .deb, on a machine that systemd boots', {
  skip: skipUnless(['booted-systemd', 'netns', 'nft', 'postgres']),
}, () => {
  const root = new BootedRoot();
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-deb-'));
  const run = (...command: readonly string[]): string => {
    const { status, said } = root.run(...command);
    assert.equal(status, 0, `${command.join(' ')}: ${said}`);
    return said;
  };
  const isReady = async (): Promise<boolean> =>
    root.run('curl', '-sf', '--max-time', '5', READY).status === 0;
  const hasTable = (): boolean => run('nft', 'list', 'tables').includes('portcullis');
  const mainPid = (): string =>
    run('systemctl', 'show', '--value', '--property=MainPID', 'portcullis-up').trim();
  const deb = '/run/portcullis.deb';
  before(async () => {
    execFileSync('npm', ['run', '--silent', 'package', '--', folder], { cwd: REPOSITORY });
    await root.boot();
    const packed = readdirSync(folder).find((name) => name.endsWith('.deb'));
    copyFileSync(join(folder, packed ?? ''), root.path(deb));
  });
  after(async () => {
    await root.destroy();
    rmSync(folder, { recursive: true, force: true });
  });

  it('installs, and runs from its own folder', async (t) => {
    const startMs = performance.now();
    run('dpkg', '--install', deb);
    assert.match(run('/usr/bin/portcullis', '--version'), /^\d+\.\d+\.\d+$/m);
    assert.match(run('/usr/bin/portcullis', 'doctor', 'control'), /can be the host of control/);
    run('/usr/bin/portcullis', 'service', 'install', 'up', '--', '--enforce');
    await eventually('it is ready', isReady, START_MS);
    await eventually('it enforces', async () => hasTable(), START_MS);
    t.diagnostic(`from the package to enforcing: ${Math.round(performance.now() - startMs)} ms`);
    assert.match(run('readlink', '-f', `/proc/${mainPid()}/exe`), /^\/usr\/lib\/portcullis\//);
  });

  it('is upgraded: the service starts again, and the kernel keeps enforcing', async () => {
    const before = mainPid();
    run('dpkg', '--install', deb);
    assert.equal(hasTable(), true);
    await eventually('it runs again', async () => !['0', before].includes(mainPid()), START_MS);
    await eventually('it is ready again', isReady, START_MS);
  });

  it('runs each role as a unit of its own, confined', async () => {
    run('/usr/bin/portcullis', 'service', 'uninstall', 'up');
    run('rm', '-rf', '/var/lib/portcullis');
    run('/usr/bin/portcullis', 'service', 'install', 'control');
    await eventually('control is ready', isReady, START_MS);
    const status = run('sh', '-c', `cat /proc/$(${MAIN_PID} portcullis-control)/status`);
    assert.match(
      status,
      /^CapEff:\s+0000000000000400$/m,
      'it may use ports below 1024 and nothing else',
    );
    assert.match(status, /^NoNewPrivs:\s+1$/m);
    const fleet = 'edges: [{ name: local, devices: [eth0] }]\nnodes: [{ name: local }]\n';
    writeFileSync(root.path('/run/fleet.yaml'), fleet);
    run('/usr/bin/portcullis', 'fleet', 'apply', '/run/fleet.yaml', '--yes');
    for (const role of ['edge', 'node']) {
      run('/usr/bin/portcullis', `${role}s`, 'enrol', 'local', '--save');
      run(
        '/usr/bin/portcullis',
        'service',
        'install',
        role,
        '--',
        ...(role === 'edge' ? ['--enforce'] : []),
      );
    }
    const isConnected = (list: string) => async () =>
      /^local +(?:local +)?(?:in service|connected)/m.test(
        run('/usr/bin/portcullis', list, 'list'),
      );
    await eventually('the edge is in service', isConnected('edges'), START_MS);
    await eventually('the node is connected', isConnected('nodes'), START_MS);
    for (const role of ['control', 'edge', 'node']) {
      assert.equal(run('systemctl', 'is-active', `portcullis-${role}`).trim(), 'active');
    }
  });

  it('is removed without its data, and purged with it', () => {
    run('dpkg', '--remove', 'portcullis');
    assert.equal(
      run('systemctl', 'show', '--value', '--property=LoadState', 'portcullis-control').trim(),
      'not-found',
    );
    assert.equal(root.run('test', '-e', '/usr/lib/portcullis/portcullis').status, 1);
    assert.equal(root.run('test', '-d', '/var/lib/portcullis/postgres').status, 0);
    assert.equal(hasTable(), true, 'the kernel continues to enforce');
    run('dpkg', '--purge', 'portcullis');
    assert.equal(root.run('test', '-e', '/var/lib/portcullis').status, 1);
  });

  it('goes on where npm start of an older version was stopped', {
    skip: lacksCommit(OLDER),
  }, async () => {
    programOf(OLDER, root.path('/opt'));
    const unit = ['--unit=older', '--property=StandardOutput=file:/run/older.json'];
    const data = '--setenv=PORTCULLIS_DATA=/var/lib/portcullis';
    const up = [`/opt/${OLDER}/portcullis`, 'up', '--json', '--enforce'];
    run('systemd-run', ...unit, data, ...up);
    const said = () => readFileSync(root.path('/run/older.json'), 'utf8');
    await eventually('it is up', async () => said().endsWith('}\n'), START_MS);
    const { keys, addresses } = JSON.parse(said()) as Started;
    const headers = ['-H', `Authorization: Bearer ${keys[0]?.key}`];
    const rules = `http://127.0.0.1:8080/api/v1/firewall/ips/${addresses[0]}`;
    const rule = '{"action": "deny", "protocol": "udp", "destination_port": "4001"}';
    const json = ['-H', 'Content-Type: application/json', '-d', rule];
    run('curl', '-sSf', ...headers, ...json, `${rules}/rules`);
    run('systemctl', 'stop', 'older');

    run('dpkg', '--install', deb);
    run('/usr/bin/portcullis', 'service', 'install', 'up', '--', '--enforce');
    await eventually('it is ready', isReady, START_MS);
    const isLive = async (): Promise<boolean> =>
      /"destination_port":4001/.test(run('curl', '-sSf', ...headers, rules));
    await eventually('its rule is live', isLive, START_MS);
    assert.match(run('nft', 'list', 'ruleset'), /\b4001\b/);
  });
});
