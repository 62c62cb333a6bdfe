import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { parse } from 'yaml';
import { insertEdge } from '@portcullis/control/fleet/testing.ts';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';

const ROOT = join(import.meta.dirname, '..');
const EXAMPLES = join(ROOT, 'examples', 'callers');
const example = (name: string): string => readFileSync(join(EXAMPLES, name), 'utf8');

interface Ended {
  readonly code: number;
  readonly out: string;
}

/** A folder with the example of a rules file, the command in the PATH, and a control plane that answers it. */
async function startPlace(t: TestContext) {
  const world = await startEnvironment(t);
  await world.db.updateTable('organisations').set({ requests_per_minute: 1_000_000 }).execute();
  // An edge that has whatever is accepted.
  await insertEdge(world.db, 'fra1');
  await world.db
    .updateTable('edges')
    .set({
      confirmed_generation: 1_000,
      enforcing_since: new Date(),
      in_service: true,
      mode: 'enforce',
    })
    .execute();
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-examples-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'bin'));
  const program = join(folder, 'bin', 'portcullis');
  const main = join(import.meta.dirname, 'main.ts');
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`);
  chmodSync(program, 0o755);
  copyFileSync(join(EXAMPLES, 'rules.yaml'), join(folder, 'rules.yaml'));
  const env = {
    HOME: folder,
    PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
    PORTCULLIS_URL: world.url,
    PORTCULLIS_API_KEY: (world.acme.authorization ?? '').replace('Bearer ', ''),
  };
  const run = (command: string, args: readonly string[], more = {}): Promise<Ended> =>
    new Promise((resolve) => {
      execFile(command, args, { cwd: folder, env: { ...env, ...more } }, (error, out, err) =>
        resolve({ code: Number(error?.code ?? 0), out: `${out}${err}` }),
      );
    });
  const blocked = async (): Promise<unknown[]> => {
    const { out } = await run('portcullis', ['firewall', 'blocked', '--json']);
    return (JSON.parse(out) as { data: { source: string; target: string | null }[] }).data.map(
      ({ source, target }) => [source, target],
    );
  };
  return { folder, run, blocked };
}

async function serve(
  t: TestContext,
  answer: (method: string, url: string, body: string) => object | string,
) {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      const answered = answer(request.method ?? '', request.url ?? '', body);
      response.end(typeof answered === 'string' ? answered : JSON.stringify(answered));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('the action comments the plan, once, and applies it', async (t) => {
  const { folder, run } = await startPlace(t);
  const comments: { id: number; body: string }[] = [];
  const api = await serve(t, (method, url, body) => {
    if (method === 'GET') return comments;
    const { body: text } = JSON.parse(body) as { body: string };
    if (method === 'POST') comments.push({ id: 7, body: text });
    else comments[0] = { id: Number(url.split('/').at(-1)), body: text };
    return {};
  });
  writeFileSync(join(folder, 'event.json'), '{"pull_request":{"number":12}}');
  const github = {
    GITHUB_API_URL: api,
    GITHUB_REPOSITORY: 'acme/network',
    GITHUB_TOKEN: 't',
    GITHUB_EVENT_PATH: join(folder, 'event.json'),
    GITHUB_STEP_SUMMARY: join(folder, 'summary.md'),
  };
  const act = (command: string) =>
    run(process.execPath, [join(import.meta.dirname, 'action', 'run.mjs')], {
      ...github,
      COMMAND: command,
    });
  // Nothing of it is accepted yet: what it expects is evaluated against what it would make.
  assert.equal((await act('test')).code, 0);
  assert.match(
    comments[0]?.body ?? '',
    /`rules\.yaml` can be applied[^]*\+ opens +allow tcp 80,443/,
  );
  assert.match(comments[0]?.body ?? '', /ok +203\.0\.113\.10: tcp 3306 is dropped/);
  assert.match((await act('apply')).out, /Live on every edge: 1 address/);
  assert.equal((await act('test')).code, 0);
  assert.deepEqual([comments.length, comments[0]?.id], [1, 7]);
  assert.match(comments[0]?.body ?? '', /Nothing to change/);
  assert.match(readFileSync(github.GITHUB_STEP_SUMMARY, 'utf8'), /can be applied/);
  assert.equal((await act('destroy')).code, 2);

  const action = parse(readFileSync(join(import.meta.dirname, 'action', 'action.yml'), 'utf8')) as {
    inputs: Record<string, unknown>;
  };
  const workflow = parse(example('github-actions.yml')) as {
    jobs: { firewall: { steps: { with?: Record<string, string> }[] } };
  };
  for (const name of Object.keys(workflow.jobs.firewall.steps[1]?.with ?? {}))
    assert.ok(Object.hasOwn(action.inputs, name), name);
});

test('a timer applies a file', async (t) => {
  const { run } = await startPlace(t);
  const unit = example('portcullis-apply.service');
  const [, command = ''] = /^ExecStart=(.*)$/m.exec(unit) ?? [];
  const [program = '', ...args] = command.replace('/etc/portcullis/', '').split(' ');
  assert.deepEqual(await run(program, args), { code: 0, out: '' });
  assert.match(
    (await run('portcullis', ['firewall', 'plan', '-f', 'rules.yaml'])).out,
    /^Nothing to change/m,
  );
  if (spawnSync('systemd-analyze', ['--version']).status === 0) {
    const files = ['service', 'timer'].map((kind) => join(EXAMPLES, `portcullis-apply.${kind}`));
    const verified = spawnSync('systemd-analyze', ['verify', ...files], { encoding: 'utf8' });
    // The program is not installed here.
    const mistakes = verified.stderr
      .split('\n')
      .filter((line) => /portcullis-apply/.test(line) && !/not executable|No such file/.test(line));
    assert.deepEqual(mistakes, []);
  }
});

test('a deny list follows its feed', async (t) => {
  const { run, blocked } = await startPlace(t);
  const feed = await serve(t, () => '# bad ones\n192.0.2.7 ; scans\n\n198.51.100.0/24\n');
  for (let days = 0; days < 2; days += 1) {
    assert.deepEqual(await run(join(EXAMPLES, 'deny-list'), [feed]), { code: 0, out: '' });
    assert.deepEqual(await blocked(), [
      ['192.0.2.7', null],
      ['198.51.100.0/24', null],
    ]);
  }
});

test('fail2ban bans and unbans', async (t) => {
  const { run, blocked } = await startPlace(t);
  const action = (name: string): string => {
    const [, line = ''] =
      new RegExp(`^${name} = (.*)$`, 'm').exec(example('fail2ban-portcullis.conf')) ?? [];
    const values: Record<string, string> = {
      ip: '192.0.2.7',
      on: '203.0.113.10',
      bantime: '600',
      name: 'sshd',
    };
    return line.replaceAll(/<(\w+)>/g, (_, tag: string) => values[tag] ?? '');
  };
  assert.deepEqual(await run('sh', ['-c', action('actionban')]), { code: 0, out: '' });
  assert.deepEqual(await blocked(), [['192.0.2.7', '203.0.113.10']]);
  assert.deepEqual(await run('sh', ['-c', action('actionunban')]), { code: 0, out: '' });
  assert.deepEqual(await blocked(), []);
});

test('Ansible changes something once', async (t) => {
  const { run } = await startPlace(t);
  interface Task {
    readonly 'ansible.builtin.command': { readonly argv: readonly string[] };
    readonly changed_when?: string;
  }
  const [play] = parse(example('ansible.yml')) as [{ tasks: readonly Task[] }];
  const task = async (index: number): Promise<number> => {
    const [program = '', ...args] = play.tasks[index]?.['ansible.builtin.command'].argv ?? [];
    return (await run(program, args)).code;
  };
  assert.equal(play.tasks[0]?.changed_when, 'plan.rc == 3');
  assert.equal(await task(0), 3);
  assert.equal(await task(1), 0);
  assert.equal(await task(0), 0);
});
