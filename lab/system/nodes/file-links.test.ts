import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { createTransfers } from '@portcullis/client/transfers.ts';
import { skipUnless } from '../../requirements.ts';
import { FileHost } from '../../stack/file-host.ts';
import { eventually } from '../stack-fixture.ts';

const SIZE = 64 * 1024 * 1024;
const PATIENCE_MS = 120_000;
const URL_OF_NODE = 'https://files.node1.example';

interface Linked {
  readonly data: { readonly url: string };
}

async function start(t: TestContext): Promise<FileHost> {
  const options = { replicas: 2, overNats: true, linkUrl: URL_OF_NODE };
  const host = await FileHost.start(t, options);
  t.after(() => host.stop());
  return host;
}

/** The address of the node, where its proxy would pass a request to. */
function direct(host: FileHost, url: string): string {
  return url.replace(URL_OF_NODE, `http://127.0.0.1:${host.linkPort}`);
}

/** A link that the first replica makes, once it knows that the node serves links. */
async function link(host: FileHost, path: string, body: object): Promise<string> {
  let url = '';
  await eventually(
    'a link is made',
    async () => {
      const headers = { 'content-type': 'application/json' };
      const init = { method: 'POST', body: JSON.stringify(body), headers };
      const reply = await host.call(path, init, 0);
      if (reply.status !== 200) return false;
      url = ((await reply.json()) as Linked).data.url;
      return true;
    },
    PATIENCE_MS,
  );
  return direct(host, url);
}

/** The body of an upload, of which the second half comes after `between`. */
async function* halves(bytes: Buffer, between: () => Promise<void>): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(bytes.subarray(0, bytes.length / 2));
  await between();
  yield new Uint8Array(bytes.subarray(bytes.length / 2));
}

describe('links to a node over NATS with two replicas', {
  skip: skipUnless(['postgres', 'nats-server']),
}, () => {
  it('a download and an upload go on while the replica that made their links is killed', async (t) => {
    const host = await start(t);
    const bytes = randomBytes(SIZE);
    writeFileSync(join(host.folder, 'world.zip'), bytes);
    const download = await fetch(await link(host, '/links', { paths: ['world.zip'] }));
    assert.equal(download.status, 200);
    const upload = { path: 'new.zip', offset: 0, size: SIZE };
    const body = halves(bytes, async () => {
      const begun = async (): Promise<boolean> => {
        const reply = await host.call('/upload?path=new.zip', {}, 1);
        const { data } = (await reply.json()) as { readonly data?: { readonly received: number } };
        return (data?.received ?? 0) > 0;
      };
      await eventually('the node has some of it', begun, PATIENCE_MS);
      await host.kill('control', 0);
    });
    const init = { method: 'PUT', body: ReadableStream.from(body), duplex: 'half' } as const;
    const sent = await fetch(await link(host, '/upload/links', upload), init);
    assert.equal(sent.status, 200);
    assert.ok(readFileSync(join(host.folder, 'new.zip')).equals(bytes));
    assert.ok(Buffer.from(await download.arrayBuffer()).equals(bytes));
  });

  it('a link made before its replica was killed is good after', async (t) => {
    const host = await start(t);
    writeFileSync(join(host.folder, 'a.txt'), 'a');
    const url = await link(host, '/links', { paths: ['a.txt'] });
    await host.kill('control', 0);
    await eventually(
      'the link is good',
      async () => (await fetch(url)).status === 200,
      PATIENCE_MS,
    );
  });

  it('the client moves large files by links, and by control where the node cannot be reached', async (t) => {
    const host = await start(t);
    const bytes = randomBytes(SIZE);
    // The first replica knows of the links.
    writeFileSync(join(host.folder, 'a.txt'), 'a');
    await link(host, '/links', { paths: ['a.txt'] });
    const seen: string[] = [];
    let isReachable = true;
    const follow: typeof fetch = async (input, init) => {
      const url = input instanceof Request ? input.url : new URL(input).href;
      const isOfNode = url.startsWith(URL_OF_NODE);
      seen.push(isOfNode ? 'node' : new URL(url).pathname.replace(/^.*\/files\//, ''));
      if (isOfNode && new Headers(init?.headers).has('authorization')) throw new Error('the key');
      if (isOfNode && !isReachable) throw new Error('not reachable');
      return fetch(direct(host, url), init);
    };
    const connect = () =>
      createTransfers({ baseUrl: host.url(0), key: host.key, links: true, fetch: follow });
    const file = { slice: host.uuid, path: 'big.zip' };
    const part = { ...file, offset: 0, size: SIZE, body: new Uint8Array(bytes) };
    const expected = {
      true: ['upload/links', 'node', 'links', 'node'],
      false: ['upload/links', 'node', 'upload', 'content'],
    };
    for (isReachable of [true, false]) {
      seen.length = 0;
      const transfers = connect();
      assert.equal((await transfers.upload(part)).done, true);
      const { body, length } = await transfers.download({ ...file, size: SIZE });
      assert.equal(length, SIZE);
      assert.ok((await buffer(body)).equals(bytes));
      assert.deepEqual(seen, expected[`${isReachable}`]);
    }
  });
});
