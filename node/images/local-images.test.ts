import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { pullImage } from '../engine/docker/container/images.ts';
import { DockerClient } from '../engine/docker/api/client.ts';
import { LocalImages } from './local-images.ts';
import type { provideImages } from './provide.ts';

const LOG = { debug() {}, info() {}, warn() {}, error() {} };

/** A Docker that has these images, at a socket. */
async function docker(t: TestContext, tags: string[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'pcl-images-'));
  const socket = join(folder, 'docker.sock');
  const server = createServer((request, response) => {
    const { url = '' } = request;
    response.setHeader('content-type', 'application/json');
    if (url.includes('/images/json')) response.end(JSON.stringify([{ RepoTags: tags }]));
    else if (url.endsWith('/version'))
      response.end(JSON.stringify({ Version: '27', ApiVersion: '1.44', MinAPIVersion: '1.24' }));
    else response.writeHead(404).end(JSON.stringify({ message: 'No such image' }));
  });
  server.listen(socket);
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return socket;
}

function stateOf(images: LocalImages, name: string) {
  const found = images.list().find((image) => image.name === name);
  assert.ok(found !== undefined);
  return found;
}

test('images are what Docker has, and unknown without it', async (t) => {
  const socketPath = await docker(t, ['portcullis/luanti:latest']);
  const images = new LocalImages({ socketPath, log: LOG });
  assert.equal(stateOf(images, 'luanti').state, 'unknown');
  await images.refresh();
  assert.equal(stateOf(images, 'luanti').state, 'ready');
  assert.equal(stateOf(images, 'bzflag').state, 'missing');
  const without = new LocalImages({ socketPath: `${socketPath}.none`, log: LOG });
  await without.refresh();
  assert.equal(stateOf(without, 'luanti').state, 'unknown');
});

test('an image is made once at a time, with progress, and a failure stays until it is there', async (t) => {
  const tags: string[] = [];
  const socketPath = await docker(t, tags);
  const begun: string[] = [];
  let finish = Promise.withResolvers<void>();
  const provide: typeof provideImages = async (_socket, options) => {
    begun.push(...(options?.names ?? []));
    options?.progress?.('Packing it', 75);
    await finish.promise;
    return [];
  };
  const images = new LocalImages({ socketPath, log: LOG, provide });
  const changed = () =>
    new Promise<void>((resolve) => {
      images.onChange = resolve;
    });
  assert.match(images.begin('../etc') ?? '', /no image/);
  assert.equal(images.begin('luanti'), null);
  assert.equal(images.begin('luanti'), null);
  assert.equal(images.begin('bzflag'), null);
  await changed();
  assert.partialDeepStrictEqual(stateOf(images, 'luanti'), {
    state: 'building',
    step: 'Packing it',
    percent: 75,
  });
  assert.deepEqual(begun, ['luanti'], 'one after another');
  const failed = finish;
  finish = Promise.withResolvers();
  failed.reject(new Error('apt said no'));
  await changed();
  assert.partialDeepStrictEqual(stateOf(images, 'luanti'), {
    state: 'failed',
    problem: 'apt said no',
  });
  await changed();
  tags.push('portcullis/bzflag:latest');
  finish.resolve();
  await changed();
  assert.equal(stateOf(images, 'bzflag').state, 'ready');
  assert.deepEqual(begun, ['luanti', 'bzflag']);
  // It was made by the command meanwhile.
  tags.push('portcullis/luanti:latest');
  await images.refresh();
  assert.equal(stateOf(images, 'luanti').state, 'ready');
});

test('a local image that is missing says what to do, by what it is', async (t) => {
  const client = new DockerClient(await docker(t, []));
  t.after(() => client.close());
  const settings = { policy: 'always', loginFile: '/nonexistent' } as const;
  const said = async (reference: string) => {
    const pulled = pullImage(
      client,
      settings,
      { reference, local: true },
      () => {},
      new AbortController().signal,
    );
    return pulled.then(
      () => '',
      (error: Error) => error.message,
    );
  };
  assert.match(await said('portcullis/flying-squid'), /portcullis images flying-squid/);
  assert.match(await said('portcullis/hearth'), /needs no Docker.*--engine both/);
  assert.match(await said('mine/own'), /never pulls/);
});
