import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type Part, UploadQueue, type UploadTarget } from './upload-queue.ts';

/** A service that keeps what it received, and fails when a test says so. */
class TestTarget implements UploadTarget {
  readonly stored = new Map<string, string>();
  readonly aborted: string[] = [];
  /** Errors of the next parts that are sent, and what of the part arrives before. */
  readonly failures: { readonly keeps: number; readonly isFinal?: boolean }[] = [];
  readonly parts: number[] = [];
  running = 0;
  most = 0;

  async received(path: string): Promise<number> {
    return this.stored.get(path)?.length ?? 0;
  }

  async send({ path, offset, bytes }: Part, signal: AbortSignal): Promise<number> {
    this.running += 1;
    this.most = Math.max(this.most, this.running);
    try {
      const text = await bytes.text();
      await new Promise((resolve) => setImmediate(resolve));
      signal.throwIfAborted();
      const before = (this.stored.get(path) ?? '').slice(0, offset);
      const failure = this.failures.shift();
      this.stored.set(path, before + text.slice(0, failure?.keeps ?? text.length));
      this.parts.push(bytes.size);
      if (failure !== undefined)
        throw new Error(failure.isFinal === true ? 'The disk is full.' : 'broken');
      return before.length + text.length;
    } finally {
      this.running -= 1;
    }
  }

  async makeFolder(): Promise<void> {}

  async abort(path: string): Promise<void> {
    this.aborted.push(path);
  }

  pauseAfter(error: unknown): number | null {
    return error instanceof Error && error.message === 'broken' ? 1 : null;
  }
}

function makeQueue(begun: readonly string[] = []) {
  const target = new TestTarget();
  const queue = new UploadQueue(target, {
    now: () => 0,
    sleep: async () => {},
    wasBegun: (path) => begun.includes(path),
    begun() {},
    ended() {},
  });
  const settled = () =>
    new Promise<void>((resolve) => {
      const look = (): void => {
        if (!queue.isBusy) resolve();
      };
      queue.subscribe(look);
      look();
    });
  return { target, queue, settled };
}

const MIB = 1_048_576;
const bytes = (length: number): string =>
  'abcdefghij'.repeat(Math.ceil(length / 10)).slice(0, length);
const fileOf = (path: string, text: string) => ({ path, file: new File([text], path) });
const states = (queue: UploadQueue): readonly string[] =>
  queue.list().map(({ state, sent }) => `${state} ${sent}`);

it('uploads every byte of every file, an empty one too, three at a time', async () => {
  const { target, queue, settled } = makeQueue();
  const large = bytes(5 * MIB + 3);
  queue.add([
    fileOf('world.zip', large),
    fileOf('empty.txt', ''),
    fileOf('a.yml', 'a'),
    fileOf('b.yml', 'b'),
    fileOf('c.yml', 'c'),
  ]);
  await settled();
  assert.equal(target.stored.get('world.zip'), large);
  assert.equal(target.stored.get('empty.txt'), '');
  assert.deepEqual(states(queue), [`done ${large.length}`, 'done 0', 'done 1', 'done 1', 'done 1']);
  assert.equal(target.most, 3);
});

it('goes on after a broken connection from the byte that the service has, in smaller parts', async () => {
  const { target, queue, settled } = makeQueue();
  const text = bytes(2 * MIB);
  target.failures.push({ keeps: 300_000 }, { keeps: 0 });
  queue.add([fileOf('world.zip', text)]);
  await settled();
  assert.equal(target.stored.get('world.zip'), text);
  assert.deepEqual(target.parts.slice(0, 3), [MIB, MIB / 2, MIB / 4]);
});

it('fails with the reason of the service, and tries again from what it has', async () => {
  const { target, queue, settled } = makeQueue();
  const text = bytes(1.5 * MIB);
  target.failures.push({ keeps: MIB, isFinal: true });
  queue.add([fileOf('world.zip', text)]);
  await settled();
  assert.equal(queue.list()[0]?.reason, 'The disk is full.');
  queue.retry();
  await settled();
  assert.equal(target.stored.get('world.zip'), text);
  assert.deepEqual(target.parts, [MIB, text.length - MIB]);
});

it('resumes a file that this browser had begun, and no other of that name', async () => {
  const { target, queue, settled } = makeQueue(['world.zip']);
  const text = bytes(MIB);
  target.stored.set('world.zip', text.slice(0, 1000));
  target.stored.set('other.zip', 'of another file');
  queue.add([fileOf('world.zip', text), fileOf('other.zip', text)]);
  await settled();
  assert.equal(target.stored.get('world.zip'), text);
  assert.equal(target.stored.get('other.zip'), text);
  assert.deepEqual(
    target.parts.toSorted((a, b) => a - b),
    [text.length - 1000, MIB],
  );
});

it('sends nothing more of what was cancelled, and removes its part', async () => {
  const { target, queue, settled } = makeQueue();
  queue.add([fileOf('world.zip', bytes(64 * MIB)), fileOf('a.yml', 'a')]);
  while ((queue.list()[0]?.sent ?? 0) === 0) await new Promise((resolve) => setImmediate(resolve));
  const [first] = queue.list();
  queue.cancel(first?.id);
  await settled();
  assert.equal(queue.list()[0]?.state, 'cancelled');
  assert.equal(queue.list()[1]?.state, 'done');
  assert.deepEqual(target.aborted, ['world.zip']);
  queue.clear();
  assert.deepEqual(queue.list(), []);
});
