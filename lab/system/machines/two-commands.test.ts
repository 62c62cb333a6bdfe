import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { RunningCommand } from '@portcullis/cli/testing/run.ts';
import { scratchRoot } from '@portcullis/control/db/scratch.ts';
import { mountBpffs, unmountBpffs } from '../../kernel/bpffs.ts';
import { skipUnless } from '../../requirements.ts';
import { type Namespace, Network, pidsIn } from '../../stack/netns.ts';
import { ended } from '../../stack/stack.ts';
import { eventually } from '../stack-fixture.ts';

const LAUNCHER = join(import.meta.dirname, '..', '..', '..', 'portcullis');
const CONTROL = '10.78.0.1';
const PORT = 8443;
const UP = ['up', '--hosts', `0.0.0.0:${PORT}`, '--name', CONTROL, '--metrics-listen', 'off'];
const WAIT_MS = 120_000;

interface Host {
  readonly namespace: Namespace;
  readonly env: NodeJS.ProcessEnv;
  readonly data: string;
}

/** Two hosts on one wire, each with its own files; the words of two commands are all that passes between them. */
describe('three hosts in two commands', {
  skip: skipUnless(['root', 'netns', 'nft', 'postgres', 'nats-server']),
}, () => {
  const home = mkdtempSync(join(scratchRoot(), 'portcullis-hosts-'));
  const network = new Network('hosts');
  const running: RunningCommand[] = [];
  let [control, other]: [Host, Host] = [null as never, null as never];
  let up: RunningCommand;
  let edge: RunningCommand;

  const host = (name: string): Host => {
    const namespace = network.create(name);
    const [data, bpffs] = [join(home, name), join(home, `${name}.bpffs`)];
    mountBpffs(bpffs);
    const { PATH } = process.env;
    const env = { PATH, PORTCULLIS_DATA: data, PORTCULLIS_BPFFS: bpffs, NO_COLOR: '1' };
    return { namespace, env, data };
  };
  const start = ({ namespace, env }: Host, ...args: readonly string[]): RunningCommand => {
    const stdio = ['ignore', 'pipe', 'pipe'] as const;
    const child = namespace.spawn([LAUNCHER, ...args], { env, stdio: [...stdio] });
    const command = new RunningCommand([], env, child);
    running.push(command);
    return command;
  };
  const run = async (at: Host, ...args: readonly string[]) => start(at, ...args).end();

  before(() => {
    chmodSync(home, 0o711);
    control = host('control');
    other = host('fra1');
    const wire = (device: string, address: string) => ({ device, addresses: [address] });
    network.join(
      control.namespace,
      wire('eth0', `${CONTROL}/24`),
      other.namespace,
      wire('eth0', '10.78.0.2/24'),
    );
  });
  after(async () => {
    for (const command of running) if (isRunning(command.child)) command.child.kill('SIGTERM');
    for (const { child } of running) await ended(child);
    network.destroy();
    for (const name of ['control', 'fra1']) unmountBpffs(join(home, `${name}.bpffs`));
    rmSync(home, { recursive: true, force: true });
  });

  it('has a live edge on the second host, and says how long it took', async (t) => {
    const startMs = performance.now();
    up = start(control, ...UP);
    const printed = await up.prints(/Ctrl-C stops it/);
    const upMs = performance.now() - startMs;
    const words = commandFor(printed, 'edge').split(' ').slice(1);
    const joinMs = performance.now();
    edge = start(other, ...words, '--foreground', '--enforce');
    await edge.prints(/edge-1 is live/);
    const endMs = performance.now();
    t.diagnostic(
      `first command ${ms(joinMs - startMs)} (of which up ${ms(upMs)}), second ${ms(endMs - joinMs)}: live after ${ms(endMs - startMs)}`,
    );
    assert.match(other.namespace.run('nft', 'list', 'tables'), /inet portcullis/);
  });

  it('joins a node by its command, which is live only with its engine', async () => {
    const words = commandFor(up.out, 'node').split(' ').slice(1);
    const options = ['--foreground', '--docker-host', 'unix:///run/there-is-no-docker.sock'];
    const node = start(other, ...words, ...options);
    await node.prints(/node-1 has joined, and is not live: Docker does not answer/);
    await node.stop('SIGTERM');
    const again = start(other, ...words, '--foreground', '--engine', 'process');
    assert.match(await again.prints(/This host is a node already/), /node-1, by the credential/);
    await eventually('it is connected', async () =>
      /node-1.*process/.test((await run(control, 'nodes', 'list')).out),
    );
    await again.stop('SIGTERM');
  });

  it('starts NATS again when it dies, with its state', async () => {
    const accounts = readdirSync(join(control.data, 'nats', 'accounts'));
    const [pid] = natsIn(control);
    assert.ok(pid !== undefined && accounts.length > 0);
    assert.notEqual(ownerOf(pid), 0, 'it has no rights of root');
    process.kill(pid, 'SIGKILL');
    await up.prints(/NATS ended \(SIGKILL\); starting it again/, 'err');
    await eventually('another one runs', async () => natsIn(control).some((one) => one !== pid));
    assert.deepEqual(readdirSync(join(control.data, 'nats', 'accounts')), accounts);
    await live();
  });

  it('has the edge live again when the control side was killed and started again', async (t) => {
    up.child.kill('SIGKILL');
    await ended(up.child);
    await eventually(
      'all that it started has ended',
      async () => pidsIn(control.namespace.name).length === 0,
      WAIT_MS,
    );
    for (const what of ['is lost; enforcement continues', 'is away: this edge mitigates']) {
      const line = new RegExp(`ECONNREFUSED ${CONTROL}:4223[^\\n]*${what}`);
      await edge.prints(line, 'err');
    }
    assert.match(other.namespace.run('nft', 'list', 'tables'), /inet portcullis/);
    const startMs = performance.now();
    up = start(control, ...UP);
    await up.prints(/Ctrl-C stops it/);
    await live();
    t.diagnostic(`live again ${ms(performance.now() - startMs)} after the start`);
    assert.doesNotMatch(up.out, /join .* pcj_[^]*edge join/, 'the edge has joined');
  });

  it('lets callers of the other host trust it by a fingerprint', async () => {
    const url = `https://${CONTROL}:${PORT}`;
    const [, fingerprint = ''] = /login --url \S+ --ca ([0-9a-f]{64})$/m.exec(up.out) ?? [];
    const made = await run(
      control,
      'keys',
      'create',
      '--organisation',
      'default',
      '--name',
      'k',
      '--ability',
      'firewall.read',
    );
    const env = { PORTCULLIS_API_KEY: made.out.trim(), HOME: home };
    const call = async (...more: readonly string[]) =>
      run({ ...other, env: { ...other.env, ...env } }, 'whoami', '--url', url, ...more);
    assert.match((await call()).err, /does not trust.*--ca/);
    assert.match((await call('--ca', fingerprint)).out, /organisation +Default/);
    const wrong = await call(
      '--ca',
      fingerprint.replace(/^./, (digit) => (digit === '0' ? '1' : '0')),
    );
    assert.match(wrong.err, /no authority with the fingerprint/);
    const doctor = await run(other, 'doctor', 'edge', '--url', url);
    assert.match(
      doctor.out,
      new RegExp(`ok +control: ${url} answers`),
      'its credential names the authority',
    );
  });

  it('stops as a whole', async () => {
    await edge.stop('SIGTERM');
    await up.stop('SIGINT');
    assert.match((await run(other, 'edge', 'off')).out, /nothing of Portcullis is in the kernel/);
    const left = ['control', 'fra1'].flatMap((name) => readdirSync(join(home, `${name}.bpffs`)));
    // Of the kernel itself.
    assert.deepEqual(
      left.filter((name) => !name.endsWith('.debug')),
      [],
      'no folder of pins is left',
    );
    assert.deepEqual(pidsIn(control.namespace.name), []);
  });

  async function live(): Promise<void> {
    await eventually(
      'edge-1 is in service',
      async () => /^edge-1 .*in service/m.test((await run(control, 'edges', 'list')).out),
      WAIT_MS,
    );
  }
});

function commandFor(printed: string, kind: 'edge' | 'node'): string {
  const [, command] =
    new RegExp(`^ +(portcullis ${kind} join \\S+ pcj_\\S+)$`, 'm').exec(printed) ?? [];
  assert.ok(command !== undefined, printed);
  return command;
}

function natsIn({ namespace }: Host): number[] {
  return pidsIn(namespace.name).filter((pid) =>
    readlinkSync(`/proc/${pid}/exe`).endsWith('/nats-server'),
  );
}

function ownerOf(pid: number): number {
  return Number(/^Uid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

function ms(time: number): string {
  return `${Math.round(time)} ms`;
}
