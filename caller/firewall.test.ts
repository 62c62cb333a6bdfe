import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  createServer,
  type IncomingMessage,
  request as forward,
  type ServerResponse,
} from 'node:http';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { CommandSession, RunningCommand, TerminalCommand } from '@portcullis/cli/testing/run.ts';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';

const MAIN = join(import.meta.dirname, 'main.ts');
const IP = '203.0.113.10';
const ADDRESSES = 40;

test('the command of callers', { timeout: 110_000 }, async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'portcullis-caller-'));
  const base = { PATH: process.env['PATH'], HOME: home, TZ: 'UTC' };
  const session = new CommandSession(base);
  const profiles = join(home, '.config', 'portcullis', 'profiles.json');
  const world = await startEnvironment(t);
  const key = (world.acme.authorization ?? '').replace('Bearer ', '');
  const env = { PORTCULLIS_URL: world.url, PORTCULLIS_API_KEY: key };
  await world.db.updateTable('organisations').set({ requests_per_minute: 1_000_000 }).execute();
  t.after(async () => {
    await session.close();
    rmSync(home, { recursive: true, force: true });
  });
  const run = (...args: readonly string[]) => session.run(args, env);
  const file = (text: string): string => {
    const path = join(home, 'rules.yaml');
    writeFileSync(path, text);
    return path;
  };

  /** A command that reads from a pipe. */
  function piped(input: string, more: NodeJS.ProcessEnv, ...args: readonly string[]) {
    const child = spawn(process.execPath, [MAIN, ...args], { env: { ...base, ...more } });
    child.stdin.end(input);
    return new RunningCommand([], base, child).end();
  }

  await t.test(
    'keeps a key in a file that only its owner reads, and sends it to no other control plane',
    async () => {
      const url = { PORTCULLIS_URL: world.url };
      const none = await piped('', {}, 'whoami');
      assert.deepEqual([none.code, none.out], [4, '']);
      assert.match(none.err, /you are not signed in: run "portcullis login --url/);
      assert.equal((await piped('pcl_wrong', url, 'login')).code, 4);
      assert.equal((await piped('two words', url, 'login')).code, 2);
      const signedIn = await piped(`${key}\n`, url, 'login');
      assert.match(signedIn.out, /^Signed in to .* as .* of acme; kept in .*profiles\.json\.\n$/);
      assert.equal(statSync(profiles).mode & 0o777, 0o600);
      const { code, out } = await piped('', {}, 'whoami', '--json');
      assert.equal(code, 0);
      const { data } = JSON.parse(out) as { data: Record<string, unknown> };
      assert.deepEqual(
        [data['organisation'], data['source_ip'], data['profile']],
        ['acme', '127.0.0.1', 'default'],
      );
      const elsewhere = await piped('', {}, 'whoami', '--url', 'http://127.0.0.1:1');
      assert.equal(elsewhere.code, 2);
      assert.match(elsewhere.err, /is for http.*, and is sent to no other/);
      chmodSync(profiles, 0o640);
      assert.match(
        (await piped('', {}, 'whoami')).err,
        /others can read the keys in .*: run "chmod 600/,
      );
      chmodSync(profiles, 0o600);
      assert.equal((await piped('', {}, 'logout')).code, 0);
      assert.equal((await piped('', {}, 'whoami')).code, 4);
    },
  );

  await t.test('asks for the key on a terminal, and does not show it', async () => {
    const terminal = new TerminalCommand([process.execPath, MAIN, 'login', '--url', world.url], {
      env: base,
    });
    await terminal.prints(/API key for .*: /);
    terminal.type(`${key}\n`);
    const { code, out } = await terminal.end();
    assert.equal(code, 0, out);
    assert.doesNotMatch(out, new RegExp(key));
    assert.match(readFileSync(profiles, 'utf8'), new RegExp(key));
    await piped('', {}, 'logout');
  });

  await t.test('opens, closes, allows and denies, once', async () => {
    const rules = async (): Promise<unknown[]> => {
      const { out } = await run('firewall', 'show', IP, '--json');
      const { data } = JSON.parse(out) as { data: { rules: Record<string, unknown>[] } };
      return data.rules.map((one) => [
        one['action'],
        one['protocol'],
        one['destination_port'],
        one['source_ip'],
        one['ref'],
      ]);
    };
    assert.match((await run('firewall', 'open', IP, 'tcp', '25565')).out, /1 object created/);
    assert.match((await run('firewall', 'open', IP, 'tcp', '25565')).out, /it is so already/);
    assert.equal((await run('firewall', 'close', IP, 'tcp', '25565', '--quiet')).out, '');
    assert.deepEqual(await rules(), [['deny', 'tcp', 25_565, null, null]]);
    const me = ['firewall', 'allow', IP, 'tcp', '22', '--me', '--for', '30m', '--ref', 'ci'];
    assert.equal((await run(...me)).code, 0);
    assert.match(
      (await run('firewall', 'show', IP)).out,
      /allow +tcp +22 +127\.0\.0\.1 +ci +20\d\d-/,
    );
    await run('firewall', 'allow', IP, 'tcp', '23', '--ref', 'ci');
    await run('firewall', 'deny', IP, 'any', '--from', '198.51.100.0/24');
    assert.deepEqual(await rules(), [
      ['allow', 'tcp', 23, null, 'ci'],
      ['deny', 'tcp', 25_565, null, null],
      ['deny', 'any', null, '198.51.100.0/24', null],
    ]);
    assert.equal((await run('firewall', 'remove', IP, 'ci')).code, 0);
    const again = await run('firewall', 'remove', IP, 'ci');
    assert.deepEqual([again.code, again.out], [1, '']);
    assert.match(
      (await run('firewall', 'filter', 'add', IP, 'udp-stateful', '7000-7001')).out,
      /2 objects created/,
    );
    assert.match(
      (await run('firewall', 'filter', 'remove', IP, 'udp-stateful', '7001')).out,
      /1 deleted/,
    );
    assert.equal((await run('firewall', 'filter', 'add', IP, 'tcp-syn-prox', '80')).code, 2);
    assert.match((await run('firewall', 'show', IP)).out, /udp-stateful +7000 +pending/);
    assert.equal((await run('firewall', 'lockdown', IP)).code, 2);
    assert.match(
      (await run('firewall', 'lockdown', IP, '--yes')).out,
      /no rule allows are dropped/,
    );
    assert.equal((await run('firewall', 'lockdown', IP, '--off')).code, 0);
    for (const words of [
      ['allow', IP, 'tpc', '22'],
      ['allow', 'nowhere', 'tcp', '22'],
      ['allow', IP, 'tcp', '22', '--me', '--from', '192.0.2.1'],
      ['allow', IP, 'tcp', '22', '--for', 'ever'],
      ['allow', IP, 'tcp', '22,23', '--ref', 'x'],
    ]) {
      assert.equal((await run('firewall', ...words)).code, 2, words.join(' '));
    }
    assert.equal((await run('firewall', 'show', '192.0.2.1')).code, 1);
    assert.match((await run('firewall', 'catalogue', IP)).out, /udp-stateful +protocols +udp/);
  });

  await t.test(
    'plans and applies a file, says its mistakes with their place, and tests what it expects',
    async () => {
      await run('firewall', 'remove', IP, '1');
      const text = `addresses:
  203.0.113.20:
    default: deny
    rules:
      - { action: allow, protocol: tcp, destination_port: "80,443", ref: null }  # web
      - { action: deny, protocol: udp, destination_port: 19 }
    blocked: [192.0.2.7]
    expect: { pass: [tcp 443], drop: [tcp 3306, "tcp 443 from 192.0.2.7"] }
`;
      const plan = ['firewall', 'plan', '-f', file(text)];
      const planned = await run(...plan, '--detailed-exitcode');
      assert.equal(planned.code, 3);
      assert.equal(
        planned.out,
        `203.0.113.20
  + opens   allow tcp 80,443
  + closes  deny udp 19
  ~ closes  default accept becomes deny
  + closes  blocks 192.0.2.7
    deny udp 19 changes no verdict now: the default of the address is deny, so what no rule allows is dropped already.
4 changes on 1 of 1 address.
`,
      );
      const test = ['firewall', 'test', '-f', join(home, 'rules.yaml')];
      assert.match((await run(...test)).out, /3 hold, 0 do not\.\n$/);
      const tested = await run(...test, '--accepted');
      assert.equal(tested.code, 1);
      assert.match(tested.out, /FAIL +203\.0\.113\.20: tcp 3306 is dropped\n +from anywhere: /);
      assert.equal((await run('firewall', 'apply', '-f', join(home, 'rules.yaml'))).code, 2);
      assert.equal(
        (await run('firewall', 'apply', '-f', join(home, 'rules.yaml'), '--yes')).code,
        0,
      );
      assert.equal((await run(...plan, '--detailed-exitcode')).code, 0);
      const holds = await run('firewall', 'test', '-f', join(home, 'rules.yaml'));
      assert.match(holds.out, /3 hold, 0 do not\.\n$/);
      await run('firewall', 'open', '203.0.113.20', 'udp', '5000');
      assert.equal((await run('firewall', 'export', '-f', join(home, 'rules.yaml'))).code, 0);
      const exported = readFileSync(join(home, 'rules.yaml'), 'utf8');
      assert.match(exported, /# web\n/);
      assert.match(exported, /protocol: udp, destination_port: "5000" \}/);
      assert.match((await run(...plan, '--prune')).out, /^Nothing to change/m);

      const wrong = text.replace('action: deny', 'acton: dney').replace('tcp 443]', 'tcp]');
      const { code, err } = await run('firewall', 'plan', '-f', file(wrong));
      assert.equal(code, 2);
      assert.match(err, /rules\.yaml:6:9: "action" is missing\./);
      assert.match(err, /rules\.yaml:6:18: A rule has no field "acton"; did you mean "action"\?/);
      assert.match(err, /rules\.yaml:8:\d+: A packet is such as/);
      const many = text.replace('"80,443"', '"1-101"');
      const over = await run('firewall', 'apply', '-f', file(many), '--yes');
      assert.match(
        over.err,
        /203\.0\.113\.20: The address has 0 rules, and 104 more would exceed the limit of 100/,
      );
      assert.equal((await run('firewall', 'plan', '-f', join(home, 'none.yaml'))).code, 2);
      const foreign = await run(
        'firewall',
        'plan',
        '-f',
        file('addresses: { 192.0.2.1: { rules: [] } }'),
      );
      assert.match(foreign.err, /^portcullis: 192\.0\.2\.1: No such address/);
    },
  );

  await t.test('finishes by a second apply what Ctrl-C interrupted', async (of) => {
    const rules = '[{ action: allow, protocol: tcp, destination_port: "8080" }]';
    const ips = Array.from({ length: ADDRESSES }, (_, index) => `203.0.113.${60 + index}`);
    const path = file(
      `addresses:\n${ips.map((ip) => `  ${ip}: { rules: ${rules} }`).join('\n')}\n`,
    );
    let command: RunningCommand | null = null;
    let puts = 0;
    // Interrupts at the tenth write, which waits until the command has noticed.
    const interrupt = async ({ method, url = '' }: IncomingMessage): Promise<void> => {
      if (method !== 'PUT' || url.includes('dry_run') || (puts += 1) !== 10) return;
      command?.child.kill('SIGINT');
      await command?.prints(/Finishing the writes under way/, 'err');
    };
    const pass = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
      const { method = 'GET', headers, url = '/' } = incoming;
      const onward = forward(`${world.url}${url}`, { method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
      });
      incoming.pipe(onward);
    };
    const proxy = createServer((incoming, outgoing) => {
      void interrupt(incoming).then(() => pass(incoming, outgoing));
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    of.after(() => {
      proxy.closeAllConnections();
      proxy.close();
    });
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const args = [MAIN, 'firewall', 'apply', '-f', path, '--yes'];
    const child = spawn(process.execPath, args, {
      env: { ...base, PORTCULLIS_URL: url, PORTCULLIS_API_KEY: key },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    command = new RunningCommand([], base, child);
    const interrupted = await command.end();
    assert.equal(interrupted.code, 1);
    const [, done] = /interrupted: (\d+) of 40 addresses are done/.exec(interrupted.err) ?? [];
    assert.ok(Number(done) >= 9 && Number(done) < ADDRESSES, interrupted.err);
    const second = await run('firewall', 'apply', '-f', path, '--yes');
    assert.match(second.out, new RegExp(`^Accepted: ${ADDRESSES - Number(done)} addresses`, 'm'));
    assert.match((await run('firewall', 'plan', '-f', path)).out, /^Nothing to change/m);
  });

  await t.test('exits with 4 where the key may not, and 69 where nothing answers', async () => {
    const reader = (await world.client({ abilities: ['firewall.read'] })).authorization ?? '';
    const limited = { ...env, PORTCULLIS_API_KEY: reader.replace('Bearer ', '') };
    assert.equal((await session.run(['firewall', 'show', IP], limited)).code, 0);
    const refused = await session.run(['firewall', 'open', IP, 'tcp', '1', '--json'], limited);
    assert.equal(refused.code, 4);
    assert.match(
      refused.err,
      /^\{"error":\{"message":"This key lacks .*","exit_code":4,"code":"ability_missing"\}\}\n$/,
    );
    const away = { ...env, PORTCULLIS_URL: 'http://127.0.0.1:1' };
    assert.equal((await session.run(['firewall', 'open', IP, 'tcp', '1'], away)).code, 69);
  });
});
