import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { FILE_RIGHTS } from '@portcullis/core/access/server-rights.ts';
import { parseCidr } from '@portcullis/core/net/cidr.ts';
import type { FileJob, FileOperationOf } from '@portcullis/link/messages/files.ts';
import { FolderWatch, TestFiles, writing } from './testing/files.ts';

const MIB = 1024 * 1024;

/** Files whose pulls reach a server of this host, and that server. */
async function start(t: TestContext, listener: RequestListener) {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const files = new TestFiles(t);
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const network = parseCidr('127.0.0.1/32');
  assert.ok(network.ok);
  files.pulls = { networks: [network.value], silentMs: 20_000 };
  const { port } = server.address() as AddressInfo;
  return { files, url: `http://127.0.0.1:${port}`, server };
}

const pulling = (
  url: string,
  path = 'plugins/map.jar',
  replace = false,
): FileOperationOf<'pull'> => ({ kind: 'pull', url, path, replace });

/** Begins a pull that takes longer than its call. */
async function begin(files: TestFiles, url: string): Promise<void> {
  void files.call(pulling(url));
  for (let isRunning = false; !isRunning; await delay(5)) {
    const { jobs } = await files.ok('jobs', { kind: 'listJobs' });
    isRunning = jobs.some(({ state }) => state === 'running');
  }
}

/** The only job, when it runs no longer. */
async function ended(files: TestFiles): Promise<FileJob> {
  for (;;) {
    const { jobs } = await files.ok('jobs', { kind: 'listJobs' });
    const [job] = jobs;
    if (job !== undefined && job.state !== 'running') return job;
    await delay(5);
  }
}

async function nothingHalf(files: TestFiles): Promise<void> {
  const tmp = join(files.folder, '.portcullis/tmp');
  while (existsSync(tmp) && readdirSync(tmp).length > 0) await delay(5);
}

describe('a pull from a URL', () => {
  it('makes a file of what is there, with the folders on the way', async (t) => {
    const content = Buffer.alloc(3 * MIB, 'map');
    const { files, url } = await start(t, (request, response) => {
      if (request.url === '/there') response.writeHead(302, { location: '/map' }).end();
      else response.end(content);
    });
    const { job } = await files.ok('job', pulling(`${url}/there`));
    assert.deepEqual(
      [job.state, job.kind, job.bytes, job.totalBytes, job.entries],
      ['done', 'pull', content.length, content.length, 1],
    );
    const path = join(files.folder, 'plugins/map.jar');
    assert.ok(readFileSync(path).equals(content));
    assert.equal(statSync(path).mode & 0o7777, 0o644);
    assert.equal(statSync(path).uid, statSync(files.folder).uid);
  });

  it('replaces a file if that is asked for, and nothing else', async (t) => {
    const { files, url } = await start(t, (_, response) => response.end('new'));
    files.put('plugins/map.jar', 'old');
    assert.equal(await files.code(pulling(url)), 'exists');
    const rights = ['file.create'] as const;
    assert.equal(await files.code(pulling(url, 'plugins/map.jar', true), rights), 'forbidden');
    await files.ok('job', pulling(url, 'plugins/map.jar', true));
    assert.equal(readFileSync(join(files.folder, 'plugins/map.jar'), 'utf8'), 'new');
    const watch = new FolderWatch(files.outside);
    mkdirSync(join(files.folder, 'folder'));
    symlinkSync(join(files.outside, 'secret'), join(files.folder, 'link'));
    symlinkSync(files.outside, join(files.folder, 'way'));
    for (const path of ['folder', 'link', 'way/secret'])
      assert.equal(await files.code(pulling(url, path, true)), 'impossible', path);
    files.denylist = ['*.key'];
    assert.equal(await files.code(pulling(url, 'a.key')), 'denied');
    assert.equal(await files.code(pulling(url, 'b'), ['file.read']), 'forbidden');
    watch.assertSame();
  });

  it('is refused what is no public address, and does not say what is there', async (t) => {
    let reached = 0;
    const { files, url } = await start(t, (request, response) => {
      if (request.url === '/inside') {
        const location = url.replace('127.0.0.1', '127.0.0.2');
        response.writeHead(302, { location }).end();
      } else response.end(`${(reached += 1)}`);
    });
    const names: Readonly<Record<string, readonly string[]>> = { inside: ['10.1.2.3'] };
    const resolve = async (name: string) => names[name] ?? Promise.reject(new Error('ENOTFOUND'));
    files.pulls = { ...files.pulls, resolve };
    const refused = async (from: string): Promise<string> => {
      const answer = await files.call(pulling(from));
      assert.ok(answer?.kind === 'refused', from);
      return `${answer.code} ${answer.reason}`.replace(URL.parse(from)?.hostname || '-', 'HOST');
    };
    const none = await refused('http://none/');
    assert.match(none, /^impossible HOST has no address that the node may connect to/);
    assert.equal(await refused('http://inside/'), none);
    assert.equal(await refused(`${url}/inside`), none);
    assert.match(await refused('http://169.254.169.254/latest'), /^impossible The URL names/);
    assert.match(await refused('file:///etc/passwd'), /^impossible The URL must be/);
    assert.match(await refused(url.replace('//', '//me:secret@')), /no user name/);
    assert.equal(reached, 0);
    assert.deepEqual(readdirSync(join(files.folder, 'plugins')), []);
  });

  it('is as large as the quota lets it be, whatever the server says of it', async (t) => {
    const { files, url } = await start(t, (request, response) => {
      const size = request.url === '/lie' ? 10 : 64 * MIB;
      if (request.url !== '/chunked') response.setHeader('content-length', size);
      response.on('error', () => undefined);
      if (request.url === '/large') response.flushHeaders();
      else response.end(Buffer.alloc(64 * MIB, 1));
    });
    files.limitMib = 8;
    for (const path of ['/large', '/chunked'])
      assert.equal(await files.code(pulling(`${url}${path}`)), 'quota', path);
    assert.deepEqual(readdirSync(join(files.folder, 'plugins')), []);
    // The bytes of an answer are what its length says.
    const lie = await files.call(pulling(`${url}/lie`));
    if (lie?.kind === 'job') assert.equal(lie.job.bytes, 10);
    await nothingHalf(files);
    // What a refused pull had taken is given back.
    assert.equal(await files.code(writing('rest', Buffer.alloc(3 * MIB))), 'written');
  });

  it('that breaks, stops or is refused leaves no file', async (t) => {
    const { files, url } = await start(t, (request, response) => {
      if (request.url === '/broken') {
        response.writeHead(200, { 'content-length': MIB });
        response.write('half', () => response.destroy());
      } else if (request.url === '/silent') {
        response.writeHead(200, { 'content-length': MIB });
        response.write('half');
      } else response.writeHead(Number(request.url?.slice(1))).end('text');
    });
    const reason = async (path: string): Promise<string> => {
      const answer = await files.call(pulling(`${url}${path}`));
      return answer?.kind === 'refused' ? answer.reason : `${answer?.kind}`;
    };
    assert.match(await reason('/404'), /127\.0\.0\.1 answered with HTTP 404/);
    assert.match(await reason('/204'), /HTTP 204/);
    assert.match(await reason('/broken'), /ended before the file was whole/);
    files.pulls = { ...files.pulls, silentMs: 200 };
    assert.match(await reason('/silent'), /127\.0\.0\.1 sent nothing for 0\.2 s/);
    assert.deepEqual(readdirSync(join(files.folder, 'plugins')), []);
    await nothingHalf(files);
  });

  it('is cancelled in the middle, and shows how far it was', async (t) => {
    const hung = Promise.withResolvers<void>();
    const { files, url } = await start(t, (_, response) => {
      response.writeHead(200, { 'content-length': 4 * MIB });
      response.write(Buffer.alloc(MIB));
      response.on('close', () => hung.resolve());
    });
    await begin(files, url);
    let job: FileJob | undefined;
    while (job?.bytes !== MIB) {
      [job] = (await files.ok('jobs', { kind: 'listJobs' })).jobs;
      await delay(5);
    }
    assert.deepEqual([job.state, job.totalBytes], ['running', 4 * MIB]);
    const cancelled = await files.ok('job', { kind: 'cancelJob', id: job.id });
    assert.equal(cancelled.job.state, 'cancelled');
    await hung.promise;
    await nothingHalf(files);
    assert.deepEqual(readdirSync(join(files.folder, 'plugins')), []);
  });
});

describe('a job', () => {
  it('ends with the rights of the one that began it, and another goes on', async (t) => {
    const { files, url } = await start(t, (_, response) => {
      response.writeHead(200, { 'content-length': 4 * MIB });
      response.write(Buffer.alloc(MIB));
    });
    await begin(files, url);
    files.rightsOf = (caller) => (caller.caller === 'person:1' ? ['file.read', 'file.create'] : []);
    await files.service.checkRights();
    const [running] = (await files.ok('jobs', { kind: 'listJobs' })).jobs;
    assert.equal(running?.state, 'running');
    files.rightsOf = () => ['file.read'];
    await files.service.checkRights();
    const job = await ended(files);
    assert.equal(job.state, 'cancelled');
    assert.match(job.notes.join(), /The right file\.create of the person or key .* has ended/);
    await nothingHalf(files);
    assert.deepEqual(readdirSync(join(files.folder, 'plugins')), []);
  });

  it('ends with its rights, however many others there are', async (t) => {
    const { files, url } = await start(t, (_, response) => {
      response.writeHead(200, { 'content-length': 4 * MIB });
      response.write(Buffer.alloc(MIB));
    });
    files.callersAtOnce = 1;
    const all = ['person:1', 'person:2', 'person:3'];
    for (const caller of all)
      void files.call(pulling(url, caller), FILE_RIGHTS, 100_000, { caller });
    const states = async () => {
      const { jobs } = await files.ok('jobs', { kind: 'listJobs' });
      return jobs.map(({ path, state }) => `${path} ${state}`).toSorted();
    };
    while ((await states()).length < 3) await delay(5);
    files.rightsOf = ({ caller }) => {
      if (caller === 'person:1') throw new Error('control is away');
      return caller === 'person:3' ? [] : FILE_RIGHTS;
    };
    await files.service.checkRights();
    while ((await states()).includes('person:3 running')) await delay(5);
    assert.deepEqual(await states(), [
      'person:1 running',
      'person:2 running',
      'person:3 cancelled',
    ]);
  });

  it('goes on while control does not answer', async (t) => {
    const go = Promise.withResolvers<void>();
    const { files, url } = await start(t, (_, response) => {
      response.writeHead(200, { 'content-length': 4 });
      response.write('ha');
      void go.promise.then(() => response.end('lf'));
    });
    files.rightsOf = () => {
      throw new Error('control is away');
    };
    await begin(files, url);
    await files.service.checkRights();
    go.resolve();
    assert.equal((await ended(files)).state, 'done');
  });
});
