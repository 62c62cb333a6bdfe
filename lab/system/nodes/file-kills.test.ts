import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { skipUnless } from '../../requirements.ts';
import { FileHost } from '../../stack/file-host.ts';
import { eventually } from '../stack-fixture.ts';
import { beginUpload, finishUpload, readWhole } from './uploads.ts';

const SIZE = 24 * 1024 * 1024;
const PATIENCE_MS = 120_000;
const JSON_TYPE = { 'content-type': 'application/json' };

interface Jobs {
  readonly data: readonly { readonly state: string }[];
}

async function start(t: TestContext, options = {}): Promise<FileHost> {
  const host = await FileHost.start(t, options);
  t.after(() => host.stop());
  return host;
}

describe('an upload', { skip: skipUnless(['postgres']) }, () => {
  for (const what of ['node', 'control'] as const) {
    it(`goes on after ${what} was killed in the middle of it, and is seen only when it is whole`, async (t) => {
      const host = await start(t);
      const bytes = randomBytes(SIZE);
      writeFileSync(join(host.folder, 'old.jar'), 'old');
      for (const path of ['new.jar', 'old.jar']) {
        const upload = await beginUpload({ host, path, bytes });
        await host.kill(what);
        upload.destroy();
        const file = join(host.folder, path);
        if (path === 'old.jar') assert.equal(readFileSync(file, 'utf8'), 'old');
        else assert.equal(existsSync(file), false);
        await (what === 'node' ? host.startNode() : host.startControl());
        await host.serving();
        const from = await finishUpload({ host, path, bytes });
        assert.ok(from > 1024 * 1024, `it went on from ${from}`);
        assert.ok(readFileSync(file).equals(bytes));
      }
      assert.deepEqual(readdirSync(join(host.folder, '.portcullis', 'uploads')), []);
    });
  }
});

describe('two replicas of control and a node over NATS', {
  skip: skipUnless(['postgres', 'nats-server']),
}, () => {
  it('the replica that holds the stream is killed, and the upload goes on by the other one', async (t) => {
    const host = await start(t, { replicas: 2, overNats: true });
    const bytes = randomBytes(SIZE);
    const upload = await beginUpload({ host, path: 'world.zip', bytes, replica: 0 });
    await host.kill('control', 0);
    upload.destroy();
    assert.equal(existsSync(join(host.folder, 'world.zip')), false);
    const from = await finishUpload({ host, path: 'world.zip', bytes, replica: 1 });
    assert.ok(from > 1024 * 1024, `it went on from ${from}`);
    assert.ok(readFileSync(join(host.folder, 'world.zip')).equals(bytes));
    const read = await readWhole({ host, path: 'world.zip', replica: 1 });
    assert.ok(read.equals(bytes), `${read.length} of ${bytes.length} bytes`);
  });

  it('NATS is killed in the middle of an upload, which goes on', async (t) => {
    const host = await start(t, { replicas: 2, overNats: true });
    const bytes = randomBytes(SIZE);
    const upload = await beginUpload({ host, path: 'world.zip', bytes, replica: 1 });
    await host.kill('nats');
    upload.destroy();
    await host.startNats();
    await finishUpload({ host, path: 'world.zip', bytes, replica: 0 });
    assert.ok(readFileSync(join(host.folder, 'world.zip')).equals(bytes));
  });
});

const FILES = 400;
const textOf = (index: number): string => `${index} `.repeat(8_000 + index);

type Part = 'node' | 'control' | 'nats';

/** Kills a part of a host, and starts it again once `between` has looked at what it left. */
async function killed(host: FileHost, part: Part, between: () => Promise<void>): Promise<void> {
  await host.kill(part);
  await between();
  if (part === 'node') await host.startNode();
  else if (part === 'control') await host.startControl();
  else await host.startNats();
  await host.serving();
}

function post(host: FileHost, path: string, body: object): Promise<Response> {
  return host.call(path, { method: 'POST', body: JSON.stringify(body), headers: JSON_TYPE });
}

/** The number of files in a folder, each of which is whole. */
function wholeIn(folder: string): number {
  const names = readdirSync(folder);
  for (const name of names)
    assert.equal(readFileSync(join(folder, name), 'utf8'), textOf(Number.parseInt(name, 10)));
  return names.length;
}

/** Moves files from one folder to another, fifty a call. */
async function moveSome(host: FileHost, from: string, to: string): Promise<void> {
  const names = readdirSync(join(host.folder, from));
  for (let at = 0; at < names.length; at += 50) {
    const some = names.slice(at, at + 50);
    await post(host, '/move', {
      moves: some.map((name) => ({ from: `${from}/${name}`, to: `${to}/${name}` })),
    });
  }
}

/** Moves all files: a node on a busy machine may be away for a moment, and is asked again then. */
async function moveAll(host: FileHost, from: string, to: string): Promise<void> {
  const areMoved = async (): Promise<boolean> => {
    await moveSome(host, from, to);
    return readdirSync(join(host.folder, from)).length === 0;
  };
  await eventually('all are moved', areMoved, PATIENCE_MS);
}

/** Until no job of the host runs. */
async function jobsEnded(host: FileHost): Promise<void> {
  const ended = async (): Promise<boolean> => {
    const response = await host.call('/jobs').catch(() => null);
    if (response?.status !== 200) return false;
    const { data } = (await response.json()) as Jobs;
    return data.every(({ state }) => state !== 'running');
  };
  await eventually('no job runs', ended, PATIENCE_MS);
}

async function unpackAcrossKill(t: TestContext, part: Part): Promise<void> {
  const host = await start(t, { overNats: part === 'nats' });
  mkdirSync(join(host.folder, 'from'));
  for (let index = 0; index < FILES; index += 1)
    writeFileSync(join(host.folder, 'from', `${index}.txt`), textOf(index));
  await post(host, '/archive', { paths: ['from'], to: 'all.zip', format: 'zip' });
  const isPacked = async (): Promise<boolean> => existsSync(join(host.folder, 'all.zip'));
  await eventually('it is packed', isPacked, PATIENCE_MS);
  const unpack = post(host, '/unpack', { path: 'all.zip', to: 'to' }).catch(() => undefined);
  const target = join(host.folder, 'to', 'from');
  const count = (): number => (existsSync(target) ? readdirSync(target).length : 0);
  await eventually('it unpacks', async () => count() > 3, PATIENCE_MS);
  await killed(host, part, async () => {
    // A call that is never answered is given up.
    await Promise.race([unpack, delay(PATIENCE_MS, undefined, { ref: false })]);
    t.diagnostic(`${wholeIn(target)} of ${FILES} files when it was killed`);
  });
  await jobsEnded(host);
  const isTaken = async (): Promise<boolean> =>
    (await post(host, '/unpack', { path: 'all.zip', to: 'to' })).status === 200;
  await eventually('it is unpacked again', isTaken, PATIENCE_MS);
  await eventually('all are there', async () => count() === FILES, PATIENCE_MS);
  await jobsEnded(host);
  assert.equal(wholeIn(target), FILES);
}

async function moveAcrossKill(t: TestContext, part: Part): Promise<void> {
  const host = await start(t, { overNats: part === 'nats' });
  const inFolder = (name: string): string[] => readdirSync(join(host.folder, name));
  for (const name of ['a', 'b']) mkdirSync(join(host.folder, name));
  for (let index = 0; index < FILES; index += 1)
    writeFileSync(join(host.folder, 'a', `${index}.txt`), textOf(index));
  const running = moveSome(host, 'a', 'b').catch(() => undefined);
  await eventually('some were moved', async () => inFolder('b').length > 20, PATIENCE_MS);
  await killed(host, part, async () => {
    await Promise.race([running, delay(PATIENCE_MS, undefined, { ref: false })]);
  });
  await running;
  // The node may still be at what it was asked last.
  const isEachOnce = async (): Promise<boolean> => {
    const names = [...inFolder('a'), ...inFolder('b')];
    return names.length === FILES && new Set(names).size === FILES;
  };
  await eventually('each file is there once', isEachOnce, PATIENCE_MS);
  t.diagnostic(`${inFolder('b').length} of ${FILES} were moved when it was killed`);
  await moveAll(host, 'a', 'b');
  assert.equal(wholeIn(join(host.folder, 'b')), FILES);
}

for (const part of ['node', 'control', 'nats'] as const) {
  describe(`${part} is killed`, {
    skip: skipUnless(part === 'nats' ? ['postgres', 'nats-server'] : ['postgres']),
  }, () => {
    it('in the middle of an unpack, which leaves whole files alone, and is done again', (t) =>
      unpackAcrossKill(t, part));

    it('in the middle of moves, of which none loses a file or doubles one', (t) =>
      moveAcrossKill(t, part));
  });
}
