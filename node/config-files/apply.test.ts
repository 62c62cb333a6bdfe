import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { Worker } from 'node:worker_threads';
import type { ConfigFile } from '@portcullis/core/game-servers/egg.ts';
import { require } from '@portcullis/lab/requirements.ts';
import { type ConfigProblem, createApplyConfigFiles } from './apply.ts';
import { EditProcess } from './edit-process.ts';

const SCOPE = {
  environment: { MOTD: 'hello {{env.SECRET}}', SERVER_PORT: '25565' },
  uuid: '6f1c2f1e-6b3a-4b0e-9a55-0a4f4f8f3c11',
  allocation: { ip: '198.51.100.10', port: 25_565 },
  limits: { memory: 1024, cpu: 100, disk: 2048 },
};
/** Its other content would be included if it were ever read. */
const SECRET = 'key=secret\ntoken=secret\n';
const KEY: ConfigFile['replacements'] = [{ match: 'key', ifValue: null, value: '2' }];

describe('configuration files', () => {
  it('get the values of the server, and are created with their folders if missing', async (t) => {
    const { folder, apply } = tree(t);
    writeFileSync(join(folder, 'server.properties'), '# mine\nserver-port=1\n');
    // Whatever the umask is.
    chmodSync(join(folder, 'server.properties'), 0o640);
    const problems = await apply(
      config('server.properties', 'properties', {
        'server-port': '{{server.build.default.port}}',
        motd: '{{env.MOTD}}',
      }),
      config('a/b/c.yml', 'yaml', { 'x.y': '{{server.build.env.SERVER_PORT}}' }),
    );
    assert.deepEqual(problems, []);
    const properties = join(folder, 'server.properties');
    assert.equal(
      readFileSync(properties, 'utf8'),
      '# mine\nserver-port=25565\nmotd=hello {{env.SECRET}}\n',
    );
    assert.equal(statSync(properties).mode & 0o777, 0o640);
    assert.equal(readFileSync(join(folder, 'a/b/c.yml'), 'utf8'), 'x:\n  y: 25565\n');
    assert.deepEqual(readdirSync(folder).toSorted(), ['a', 'server.properties']);
  });

  it('are left unchanged and reported if a template has no value', async (t) => {
    const { folder, apply } = tree(t);
    writeFileSync(join(folder, 'config.yml'), 'address: localhost\nother: 1\n');
    const problems = await apply(
      config('config.yml', 'yaml', { address: '{{config.docker.interface}}', other: 2 }),
    );
    assert.equal(
      readFileSync(join(folder, 'config.yml'), 'utf8'),
      'address: localhost\nother: 2\n',
    );
    assert.deepEqual(
      problems.map(({ detail }) => detail),
      ['Nothing stands for {{config.docker.interface}}; what it would replace stays.'],
    );
  });

  it('are not written when they are correct', async (t) => {
    const { folder, apply } = tree(t);
    const path = join(folder, 'a.cfg');
    writeFileSync(path, 'key=2\n');
    const before = lstatSync(path).ino;
    assert.deepEqual(await apply({ path: 'a.cfg', parser: 'properties', replacements: KEY }), []);
    assert.equal(lstatSync(path).ino, before);
  });

  it('belong to the account of the server, also new folders', async (t) => {
    if (!require(t, ['root'])) return;
    const { folder, apply } = tree(t, { uid: 4711, gid: 4712 });
    await apply(config('new/a.cfg', 'properties', { key: 1 }));
    for (const path of ['new', 'new/a.cfg']) {
      const { uid, gid } = lstatSync(join(folder, path));
      assert.deepEqual([uid, gid], [4711, 4712], path);
    }
  });
});

describe('a hostile server folder', () => {
  const bad: Readonly<Record<string, (folder: string, outside: string) => void>> = {
    'a link to a file outside': (folder, outside) =>
      symlinkSync(join(outside, 'secret.cfg'), join(folder, 'a.cfg')),
    'a link that leads nowhere': (folder, outside) =>
      symlinkSync(join(outside, 'made.cfg'), join(folder, 'a.cfg')),
    'a directory': (folder) => mkdirSync(join(folder, 'a.cfg')),
    'a pipe nobody writes to': (folder) => void execFileSync('mkfifo', [join(folder, 'a.cfg')]),
    'a socket': (folder) =>
      void execFileSync('python3', [
        '-c',
        'import socket,sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])',
        join(folder, 'a.cfg'),
      ]),
    'a file that is too large': (folder) =>
      writeFileSync(join(folder, 'a.cfg'), Buffer.alloc(4 * 1024 * 1024 + 1)),
  };
  for (const [what, make] of Object.entries(bad)) {
    it(`with ${what} is left unchanged, and nothing outside is read or written`, async (t) => {
      if (what === 'a socket' && !require(t, ['python3'])) return;
      const { folder, outside, apply } = tree(t);
      make(folder, outside);
      const before = lstatSync(join(folder, 'a.cfg'));
      const [problem, ...more] = await apply({
        path: 'a.cfg',
        parser: 'properties',
        replacements: KEY,
      });
      assert.match(problem?.detail ?? '', /^Left as it is: /);
      assert.deepEqual(more, []);
      assert.equal(lstatSync(join(folder, 'a.cfg')).ino, before.ino);
      assert.deepEqual(readdirSync(outside), ['secret.cfg']);
      assert.equal(readFileSync(join(outside, 'secret.cfg'), 'utf8'), SECRET);
    });
  }

  it('gives no access outside by linked directories at any depth or by ".."', async (t) => {
    const { folder, outside, apply } = tree(t);
    mkdirSync(join(folder, 'x'));
    symlinkSync(outside, join(folder, 'x/link'));
    symlinkSync('..', join(folder, 'up'));
    for (const path of [
      'x/link/secret.cfg',
      'x/link/new.cfg',
      'up/new.cfg',
      '../new.cfg',
      'x/../y.cfg',
    ]) {
      const [problem] = await apply({ path, parser: 'properties', replacements: KEY });
      assert.match(problem?.detail ?? '', /^Left as it is: /, path);
    }
    assert.deepEqual(readdirSync(outside), ['secret.cfg']);
    assert.deepEqual(readdirSync(folder).toSorted(), ['up', 'x']);
  });

  it('gives no access to a file of another account by a hard link', async (t) => {
    if (!require(t, ['root'])) return;
    const { folder, outside, apply } = tree(t, { uid: 4711, gid: 4711 });
    linkSync(join(outside, 'secret.cfg'), join(folder, 'a.cfg'));
    const [problem] = await apply({ path: 'a.cfg', parser: 'properties', replacements: KEY });
    assert.match(problem?.detail ?? '', /second name/);
    assert.equal(lstatSync(join(folder, 'a.cfg')).uid, 0);
  });

  it('does not prevent a write by files at the place of temporary files', async (t) => {
    const { folder, outside, apply } = tree(t);
    writeFileSync(join(folder, 'a.cfg'), 'key=1\n');
    symlinkSync(join(outside, 'secret.cfg'), join(folder, '.portcullis-new'));
    assert.deepEqual(await apply({ path: 'a.cfg', parser: 'properties', replacements: KEY }), []);
    assert.equal(readFileSync(join(folder, 'a.cfg'), 'utf8'), 'key=2\n');
    assert.equal(readFileSync(join(outside, 'secret.cfg'), 'utf8'), SECRET);
  });

  it('gives no access by replacing directories and files by links while the agent works', async (t) => {
    const { folder, outside, apply } = tree(t);
    const swapper = new Worker(new URL('../server-folder/testing/swap-links.ts', import.meta.url), {
      workerData: { folder, outside },
    });
    t.after(() => swapper.terminate());
    await once(swapper, 'online');
    const details = new Set<string>();
    let written = 0;
    const untilMs = performance.now() + 5000;
    while (performance.now() < untilMs || written === 0 || details.size === 0) {
      const problems = await apply({ path: 'conf/a.cfg', parser: 'properties', replacements: KEY });
      for (const { detail } of problems) details.add(detail);
      if (problems.length === 0) written += 1;
    }
    const stopped = once(swapper, 'message');
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    swapper.postMessage('stop');
    const [rounds] = (await stopped) as [number];
    assert.deepEqual(readdirSync(outside), ['secret.cfg']);
    assert.equal(readFileSync(join(outside, 'secret.cfg'), 'utf8'), SECRET);
    // The race took place: both sides made progress.
    assert.ok(rounds > 100, `${rounds} rounds`);
    assert.ok(written > 0 && details.size > 0, `${written} written; ${[...details].join(' ')}`);
  });

  it('with a file that takes too long loses its own values and delays others only once', async (t) => {
    const editProcess = new EditProcess(1000);
    const [hostile, deep, other] = [
      tree(t, null, editProcess),
      tree(t, null, editProcess),
      tree(t, null, editProcess),
    ];
    const names = ['a.yml', 'b.yml', 'c.yml'];
    for (const name of names) {
      writeFileSync(join(hostile.folder, name), 'x: [a, b, c]\n'.repeat(70_000));
    }
    writeFileSync(join(deep.folder, 'deep.json'), '['.repeat(2_000_000));
    writeFileSync(join(deep.folder, 'deep.xml'), '<a>'.repeat(200_000));
    writeFileSync(join(deep.folder, 'bomb.yml'), bomb());
    writeFileSync(join(other.folder, 'good.yml'), 'key: 1\n');
    const longest = longestPause();
    const [slow, nested, none] = await Promise.all([
      hostile.apply(...names.map((path) => config(path, 'yaml', { key: 2 }))),
      deep.apply(
        config('deep.json', 'json', { key: 2 }),
        config('deep.xml', 'xml', { key: 2 }),
        config('bomb.yml', 'yaml', { key: 2 }),
      ),
      other.apply(config('good.yml', 'yaml', { key: 2 })),
    ]);
    assert.deepEqual(
      slow.map(({ detail }) => detail),
      [
        'Left as it is: it took too long to edit.',
        'Left as it is: another file of the server took too long to edit.',
        'Left as it is: another file of the server took too long to edit.',
      ],
    );
    assert.deepEqual(
      nested.map(({ path }) => path),
      ['deep.json', 'deep.xml'],
    );
    assert.match(readFileSync(join(deep.folder, 'bomb.yml'), 'utf8'), /^key: 2$/m);
    assert.deepEqual(none, []);
    assert.equal(readFileSync(join(other.folder, 'good.yml'), 'utf8'), 'key: 2\n');
    // Parsed in this thread, the file alone would take longer.
    assert.ok(longest() < 2000, `the agent stood still for ${Math.round(longest())} ms`);
  });
});

/** Measures the longest block of this thread until the result is read. */
function longestPause(): () => number {
  let longest = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 5);
  return () => {
    clearInterval(timer);
    return longest;
  };
}

/** References to references: a billion nodes if expanded. */
function bomb(): string {
  const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
  for (let level = 1; level < 9; level += 1) {
    const all = Array.from({ length: 10 }, () => `*a${level - 1}`).join(', ');
    lines.push(`a${level}: &a${level} [${all}]`);
  }
  return `${lines.join('\n')}\nkey: 1\n`;
}

interface Tree {
  readonly folder: string;
  readonly outside: string;
  readonly apply: (...files: readonly ConfigFile[]) => Promise<readonly ConfigProblem[]>;
}

function tree(
  t: TestContext,
  owner: { readonly uid: number; readonly gid: number } | null = null,
  editProcess = new EditProcess(),
): Tree {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'portcullis-config-')));
  t.after(() => {
    chmodSync(root, 0o755);
    rmSync(root, { recursive: true, force: true });
  });
  const folder = join(root, 'server');
  const outside = join(root, 'outside');
  mkdirSync(folder);
  mkdirSync(outside);
  writeFileSync(join(outside, 'secret.cfg'), SECRET);
  const run = createApplyConfigFiles(editProcess);
  return { folder, outside, apply: (...files) => run({ folder, files, scope: SCOPE, owner }) };
}

function config(
  path: string,
  parser: ConfigFile['parser'],
  find: Readonly<Record<string, string | number>>,
): ConfigFile {
  const replacements = Object.entries(find).map(([match, value]) => ({
    match,
    ifValue: null,
    value,
  }));
  return { path, parser, replacements };
}
