import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as settle } from 'node:timers/promises';
import { Limiter } from './limiter.ts';

/** Work that is begun at a limiter, in the order in which it starts. */
class Started {
  readonly names: string[] = [];
  readonly #ends = new Map<string, () => void>();
  readonly #limiter: Limiter;

  constructor(limiter: Limiter) {
    this.#limiter = limiter;
  }

  begin(name: string, owner: string, signal?: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ends.set(name, resolve);
    const work = (): Promise<void> => {
      this.names.push(name);
      return promise;
    };
    return this.#limiter.run(work, signal, { owner });
  }

  async end(name: string): Promise<void> {
    this.#ends.get(name)?.();
    await settle();
  }
}

test('work of one owner runs in the order of its arrival, as much at once as the limit', async () => {
  const started = new Started(new Limiter(2));
  for (const name of ['a', 'b', 'c', 'd']) void started.begin(name, '');
  assert.deepEqual(started.names, ['a', 'b']);
  await started.end('b');
  assert.deepEqual(started.names, ['a', 'b', 'c']);
  await started.end('a');
  assert.deepEqual(started.names, ['a', 'b', 'c', 'd']);
});

test('an owner with ten that wait does not delay the first of another one', async () => {
  const started = new Started(new Limiter(2));
  for (let index = 0; index < 12; index += 1) void started.begin(`a${index}`, 'a');
  for (const name of ['b0', 'b1']) void started.begin(name, 'b');
  void started.begin('c0', 'c');
  assert.deepEqual(started.names, ['a0', 'a1']);
  for (const name of ['a0', 'a1', 'b0', 'c0', 'a2']) await started.end(name);
  assert.deepEqual(started.names, ['a0', 'a1', 'b0', 'c0', 'a2', 'b1', 'a3']);
});

test('work that is aborted while it waits never starts, and takes no slot', async () => {
  const started = new Started(new Limiter(1));
  const cancel = new AbortController();
  void started.begin('a', 'a');
  const waits = started.begin('b', 'b', cancel.signal);
  void started.begin('c', 'b');
  cancel.abort(new Error('cancelled'));
  await assert.rejects(waits, /cancelled/);
  await started.end('a');
  await started.end('c');
  void started.begin('d', 'd');
  assert.deepEqual(started.names, ['a', 'c', 'd']);
  const aborted = started.begin('e', 'e', cancel.signal);
  await assert.rejects(aborted, /cancelled/);
  await started.end('d');
  void started.begin('f', 'f');
  assert.deepEqual(started.names.at(-1), 'f');
});

test('work that runs for long passes its slot on, once, and is still counts for its owner', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const started = new Started(new Limiter(1, { slotMs: 1_000 }));
  void started.begin('a0', 'a');
  void started.begin('a1', 'a');
  void started.begin('b0', 'b');
  t.mock.timers.tick(999);
  await settle();
  assert.deepEqual(started.names, ['a0']);
  t.mock.timers.tick(1);
  await settle();
  assert.deepEqual(started.names, ['a0', 'b0']);
  // The slot is that of another work by now.
  await started.end('a0');
  assert.deepEqual(started.names, ['a0', 'b0']);
  await started.end('b0');
  assert.deepEqual(started.names, ['a0', 'b0', 'a1']);
  t.mock.timers.tick(1_000);
  void started.begin('b1', 'b');
  assert.deepEqual(started.names, ['a0', 'b0', 'a1', 'b1']);
});
