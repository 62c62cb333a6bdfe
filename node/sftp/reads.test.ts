import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SftpResult } from './messages.ts';
import { ReadQueue, type ReadRequest } from './reads.ts';

/** An agent that reads a file of these bytes when it is let. */
class Agent {
  readonly asked: ReadRequest[] = [];
  readonly #bytes: Buffer;
  readonly #open: (() => void)[] = [];

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  async perform(read: ReadRequest): Promise<SftpResult> {
    this.asked.push(read);
    await new Promise<void>((resolve) => this.#open.push(resolve));
    const data = this.#bytes.subarray(read.offset, read.offset + read.length);
    const isEnd = read.offset + read.length >= this.#bytes.length;
    return { kind: 'data', data: data.length === 0 ? null : data, isEnd };
  }

  /** Answers what was asked so far. */
  async answer(): Promise<void> {
    for (const resolve of this.#open.splice(0)) resolve();
    await new Promise(setImmediate);
    await new Promise(setImmediate);
  }
}

describe('reads of a channel', () => {
  it('that follow one another and wait are one, and each gets its part to the end of the file', async () => {
    const agent = new Agent(Buffer.from('0123456789'));
    const queue = new ReadQueue({ hasRoom: () => true, perform: (read) => agent.perform(read) });
    const all = [0, 2, 4, 6, 8, 10, 12].map((offset) =>
      queue.read({ handle: 1, offset, length: 2 }),
    );
    const other = queue.read({ handle: 2, offset: 14, length: 2 });
    const back = queue.read({ handle: 2, offset: 0, length: 3 });
    for (let round = 0; round < 3; round += 1) await agent.answer();
    assert.deepEqual(agent.asked, [
      { handle: 1, offset: 0, length: 2 },
      { handle: 1, offset: 2, length: 2 },
      { handle: 1, offset: 4, length: 10 },
      { handle: 2, offset: 14, length: 2 },
      { handle: 2, offset: 0, length: 3 },
    ]);
    const parts = (await Promise.all([...all, other, back])).map((result) =>
      result.kind === 'data' && result.data !== null ? Buffer.from(result.data).toString() : null,
    );
    assert.deepEqual(parts, ['01', '23', '45', '67', '89', null, null, null, '012']);
  });

  it('of a whole file are those of its start and of its end, which are known, each once', async () => {
    const agent = new Agent(Buffer.from('0123456789'));
    const queue = new ReadQueue({
      hasRoom: () => true,
      perform: (read) => agent.perform(read),
      now: () => 0,
    });
    const read = async (offset: number, length: number): Promise<string | null> => {
      const result = queue.read({ handle: 1, offset, length });
      await agent.answer();
      const known = await result;
      return known.kind === 'data' && known.data !== null ? String(known.data) : null;
    };
    queue.opened(1, { kind: 'data', data: Buffer.from('0123'), isEnd: false });
    assert.deepEqual([await read(0, 2), await read(2, 2)], ['01', '23']);
    assert.deepEqual(agent.asked, []);
    // The end is known by the read before it, and asked for again then.
    assert.deepEqual([await read(4, 20), await read(10, 20)], ['456789', null]);
    assert.equal(agent.asked.length, 1);
    assert.equal(await read(10, 20), null);
    assert.equal(agent.asked.length, 2);
    // A start that is shorter than a read, without being the whole file, is none.
    queue.opened(1, { kind: 'data', data: Buffer.from('0123'), isEnd: false });
    assert.equal(await read(0, 8), '01234567');
    // Other work on the file may have changed it.
    queue.opened(1, { kind: 'data', data: Buffer.from('old'), isEnd: true });
    await queue.follow(1, async () => ({ kind: 'done' }));
    assert.equal(await read(0, 10), '0123456789');
  });

  it('give each part the refusal of the whole', async () => {
    const refused: SftpResult = { kind: 'refused', code: 'not_found', reason: 'closed' };
    const queue = new ReadQueue({ hasRoom: () => true, perform: async () => refused });
    const all = [0, 1, 2, 3].map((offset) => queue.read({ handle: 1, offset, length: 1 }));
    assert.deepEqual(await Promise.all(all), [refused, refused, refused, refused]);
  });

  it('are no longer than the agent reads at once', async () => {
    const agent = new Agent(Buffer.alloc(0));
    const queue = new ReadQueue({ hasRoom: () => true, perform: (read) => agent.perform(read) });
    const length = 100 * 1024;
    for (let part = 0; part < 8; part += 1)
      void queue.read({ handle: 1, offset: part * length, length });
    for (let round = 0; round < 4; round += 1) await agent.answer();
    assert.deepEqual(
      agent.asked.map((read) => read.length / length),
      [1, 1, 2, 2, 2],
    );
  });

  it('begin when the client takes answers, and other work on their handle does not overtake them', async () => {
    const agent = new Agent(Buffer.from('0123'));
    let hasRoom = false;
    const queue = new ReadQueue({ hasRoom: () => hasRoom, perform: (read) => agent.perform(read) });
    const done: string[] = [];
    const follow = (name: string, handle: number): void => {
      const work = async (): Promise<SftpResult> => {
        done.push(`${name} after ${agent.asked.length}`);
        return { kind: 'done' };
      };
      void queue.follow(handle, work);
    };
    void queue.read({ handle: 1, offset: 0, length: 1 });
    void queue.read({ handle: 1, offset: 1, length: 1 });
    follow('write', 1);
    void queue.read({ handle: 1, offset: 2, length: 1 });
    follow('close', 1);
    follow('other', 2);
    assert.deepEqual([agent.asked.length, done], [0, ['other after 0']]);
    hasRoom = true;
    queue.resume();
    await agent.answer();
    assert.deepEqual(done, ['other after 0', 'write after 1', 'close after 2']);
    assert.deepEqual(agent.asked, [
      { handle: 1, offset: 0, length: 2 },
      { handle: 1, offset: 2, length: 1 },
    ]);
  });
});
