import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { parseCidr } from '@portcullis/core/net/cidr.ts';
import type { FileJob } from '@portcullis/link/messages/files.ts';
import { WAITS } from './jobs.ts';
import { TestFiles } from './testing/files.ts';

/** Slots of a node for pulls. */
const SLOTS = 4;
const PATIENCE_MS = 60_000;
const server = (index: number): string => `00000000-0000-4000-8000-00000000000${index}`;

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const untilMs = performance.now() + PATIENCE_MS; !(await isSo()); await delay(5))
    assert.ok(performance.now() < untilMs, `not in time: ${what}`);
}

/** A node whose servers pull from a host that answers when the test says so. */
class BusyNode {
  static async start(t: TestContext): Promise<BusyNode> {
    const host = createServer();
    host.listen(0, '127.0.0.1');
    await once(host, 'listening');
    const node = new BusyNode(
      new TestFiles(t),
      `http://127.0.0.1:${(host.address() as AddressInfo).port}`,
    );
    host.on('request', (request, response: ServerResponse) => {
      node.reached.set(request.url?.slice(1) ?? '', response);
    });
    t.after(() => {
      host.closeAllConnections();
      host.close();
    });
    return node;
  }

  /** Names of files whose pulls have reached the host, and their answers. */
  readonly reached = new Map<string, ServerResponse>();
  readonly files: TestFiles;
  readonly #url: string;

  private constructor(files: TestFiles, url: string) {
    this.files = files;
    this.#url = url;
    const network = parseCidr('127.0.0.1/32');
    assert.ok(network.ok);
    files.pulls = { networks: [network.value] };
  }

  /** Begins a pull of a server, and returns when it is known. */
  async pull(index: number, name: string): Promise<void> {
    const operation = {
      kind: 'pull',
      url: `${this.#url}/${name}`,
      path: name,
      replace: false,
    } as const;
    void this.files.call(operation, undefined, undefined, { uuid: server(index) });
    await until(`${name} is a job`, async () => (await this.job(index, name)) !== undefined);
  }

  async jobs(index: number): Promise<readonly FileJob[]> {
    const answer = await this.files.call({ kind: 'listJobs' }, undefined, undefined, {
      uuid: server(index),
    });
    assert.ok(answer?.kind === 'jobs');
    return answer.jobs;
  }

  async job(index: number, name: string): Promise<FileJob | undefined> {
    return (await this.jobs(index)).find(({ path }) => path === name);
  }

  /** Waits until exactly these pulls have reached the host. */
  async has(...names: readonly string[]): Promise<void> {
    await until(`${names.join()} are pulled`, async () =>
      names.every((one) => this.reached.has(one)),
    );
    assert.deepEqual([...this.reached.keys()].toSorted(), names.toSorted());
  }

  /** Lets a pull end, and waits for that. */
  async finish(index: number, name: string): Promise<void> {
    this.reached.get(name)?.end(name);
    await until(`${name} is whole`, async () => (await this.job(index, name))?.state === 'done');
  }
}

describe('long jobs of the servers of a node', () => {
  it('are few at once, wait with a note, and one with many delays none with its first', async (t) => {
    const node = await BusyNode.start(t);
    for (const name of ['a0', 'a1', 'a2']) await node.pull(1, name);
    await node.pull(2, 'b0');
    await node.has('a0', 'a1', 'a2', 'b0');
    await node.finish(1, 'a0');
    await node.pull(1, 'a3');
    await node.has('a0', 'a1', 'a2', 'a3', 'b0');
    await node.pull(2, 'b1');
    await node.pull(3, 'c0');
    for (const [index, name] of [
      [2, 'b1'],
      [3, 'c0'],
    ] as const) {
      const job = await node.job(index, name);
      assert.deepEqual([job?.state, job?.notes], ['running', [WAITS]], name);
    }
    assert.equal(node.reached.size, SLOTS + 1);
    await node.finish(1, 'a1');
    await node.has('a0', 'a1', 'a2', 'a3', 'b0', 'c0');
    assert.deepEqual((await node.job(3, 'c0'))?.notes, []);
    await node.finish(3, 'c0');
    await node.has('a0', 'a1', 'a2', 'a3', 'b0', 'b1', 'c0');
  });

  it('of the disk do not wait for pulls', async (t) => {
    const node = await BusyNode.start(t);
    for (let index = 1; index <= SLOTS; index += 1) await node.pull(index, `p${index}`);
    node.files.put('from', 'x');
    const { job } = await node.files.ok('job', { kind: 'copy', from: 'from', to: 'to' });
    assert.deepEqual([job.state, job.notes], ['done', []]);
  });

  it('are cancelled while they wait, end with the rights and with the server, and leave nothing', async (t) => {
    const node = await BusyNode.start(t);
    const { files } = node;
    for (let index = 1; index <= SLOTS; index += 1) await node.pull(index, `p${index}`);
    for (const name of ['cancelled', 'rights']) await node.pull(5, name);
    await node.pull(6, 'removed');
    const { id } = (await node.job(5, 'cancelled')) ?? assert.fail('it is not there');
    const answer = await files.call({ kind: 'cancelJob', id }, undefined, undefined, {
      uuid: server(5),
    });
    assert.ok(answer?.kind === 'job');
    assert.deepEqual([answer.job.state, answer.job.notes], ['cancelled', ['It was cancelled.']]);

    files.rightsOf = (caller) =>
      caller.server === server(5) ? ['file.read'] : ['file.read', 'file.create'];
    await files.service.checkRights();
    const ended = async (): Promise<boolean> =>
      (await node.job(5, 'rights'))?.state === 'cancelled';
    await until('it ends with the rights', ended);
    assert.match(
      (await node.job(5, 'rights'))?.notes.join() ?? '',
      /^The right file\.create .* has ended/,
    );

    await files.service.forget(server(6));
    assert.deepEqual(await node.jobs(6), []);
    for (let index = 1; index <= SLOTS; index += 1) await node.finish(index, `p${index}`);
    assert.equal(node.reached.size, SLOTS);
    // All slots are free again.
    files.rightsOf = () => ['file.read', 'file.create'];
    for (let index = 1; index <= SLOTS; index += 1) await node.pull(index, `q${index}`);
    await until('all run', async () => node.reached.size === 2 * SLOTS);
    for (let index = 1; index <= SLOTS; index += 1) await node.finish(index, `q${index}`);
    assert.deepEqual(readdirSync(join(files.folder, '.portcullis/tmp')), []);
  });

  it('of a server that is suspended meanwhile do nothing when it is their turn', async (t) => {
    const node = await BusyNode.start(t);
    for (let index = 1; index <= SLOTS; index += 1) await node.pull(index, `p${index}`);
    await node.pull(5, 'late');
    node.files.isAway = (uuid) => uuid === server(5);
    node.files.away = 'The server is suspended.';
    await node.finish(1, 'p1');
    node.files.away = null;
    const job = await node.job(5, 'late');
    assert.deepEqual([job?.state, job?.notes], ['failed', ['The server is suspended.']]);
    assert.equal(node.reached.has('late'), false);
  });

  it('that do not end at once hold no place of the operations on the files while they are cancelled', async (t) => {
    const node = await BusyNode.start(t);
    const { files } = node;
    const [measures, measured] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    files.beforeMeasure = () => {
      measures.resolve();
      return measured.promise;
    };
    await node.pull(1, 'a');
    await node.has('a');
    node.reached.get('a')?.write('half');
    // As on a slow disk: it waits for something that a cancel does not end.
    await measures.promise;
    const { id } = (await node.job(1, 'a')) ?? assert.fail('it is not there');
    let answered = 0;
    const cancels = Array.from({ length: 20 }, async () => {
      const answer = await files.call({ kind: 'cancelJob', id }, undefined, undefined, {
        uuid: server(1),
      });
      answered += 1;
      return answer;
    });
    // A later operation is answered first.
    assert.equal((await node.job(1, 'a'))?.state, 'running');
    assert.equal(answered, 0);
    measured.resolve();
    for (const answer of await Promise.all(cancels)) assert.equal(answer?.kind, 'job');
    assert.equal((await node.job(1, 'a'))?.state, 'cancelled');
  });
});
