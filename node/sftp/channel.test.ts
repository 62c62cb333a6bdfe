import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import type ssh2 from 'ssh2';
import { SftpChannel } from './channel.ts';
import type { SftpResult } from './messages.ts';

/** The end of the library that requests come from and answers go to. */
class Wire extends EventEmitter {
  readonly answered: number[] = [];
  readonly _buffer: readonly unknown[] = [];

  data(id: number): void {
    this.answered.push(id);
  }

  status(id: number): void {
    this.answered.push(id);
  }
}

// OpenSSH's scp cuts a file off where one answer overtook another.
test('answers reads and writes in the order of the requests, in whatever order they are done', async () => {
  const wire = new Wire();
  const pending: PromiseWithResolvers<SftpResult>[] = [];
  const channel = new SftpChannel(wire as unknown as ssh2.SFTPWrapper, {
    maxWaiting: 16,
    hasRoom: () => true,
    handles: 1,
    answering: () => {},
    perform: () => {
      const one = Promise.withResolvers<SftpResult>();
      pending.push(one);
      return one.promise;
    },
    takeHandle: () => true,
    giveHandle: () => {},
    end: () => assert.fail('the channel ended'),
  });
  channel.serve();
  const handle = Buffer.alloc(4, 1);
  for (const id of [1, 2]) wire.emit('READ', id, handle, 0, 1);
  for (const id of [3, 4]) wire.emit('WRITE', id, handle, 0, Buffer.alloc(1));
  assert.equal(pending.length, 4, 'they are done at once');
  const results: SftpResult[] = [
    { kind: 'data', data: Buffer.alloc(1), isEnd: false },
    { kind: 'data', data: null, isEnd: true },
    { kind: 'done' },
    { kind: 'refused', code: 'quota', reason: 'full' },
  ];
  for (const at of [3, 1, 2]) {
    pending[at]?.resolve(results[at] as SftpResult);
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(wire.answered, []);
  }
  pending[0]?.resolve(results[0] as SftpResult);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(wire.answered, [1, 2, 3, 4]);
});

test('goes on with reads when the window of the client opens, whatever was answered last', () => {
  /** The window is full, and a refusal waits for it too. */
  class FullWire extends Wire {
    override _buffer: readonly unknown[] = [Buffer.alloc(300 * 1024)];
    _chunkcb: (() => void) | undefined = undefined;

    override status(id: number): void {
      super.status(id);
      this._chunkcb = () => {
        this._chunkcb = undefined;
        this._buffer = [];
      };
    }
  }
  const wire = new FullWire();
  let reads = 0;
  const channel = new SftpChannel(wire as unknown as ssh2.SFTPWrapper, {
    maxWaiting: 16,
    hasRoom: () => true,
    handles: 0,
    answering: () => {},
    perform: () => {
      reads += 1;
      return Promise.withResolvers<SftpResult>().promise;
    },
    takeHandle: () => false,
    giveHandle: () => {},
    end: () => assert.fail('the channel ended'),
  });
  channel.serve();
  wire.emit('READ', 1, Buffer.alloc(4, 1), 0, 1);
  wire.emit('OPEN', 2, 'a', 1);
  assert.deepEqual([wire.answered, reads], [[2], 0]);
  wire._chunkcb?.();
  assert.equal(reads, 1);
});
