import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Console, Engine } from '../engine/engine.ts';
import { EngineAdapter, type EngineAdapterOptions } from './engine-adapter.ts';
import { InstanceConnection } from './instance-connection.ts';

/** The engine with an instance whose consoles are seen. */
class Consoles {
  readonly made: { end(): void; say(text: string): void; isClosed: boolean }[] = [];
  readonly taken: string[] = [];
  failures = 0;
  detached = 0;
  readonly connection = new InstanceConnection(this.#engine(), 'uuid', () => {
    this.detached += 1;
  });

  #engine(): Engine {
    const attach = async (_uuid: string, onOutput: (chunk: Buffer) => void): Promise<Console> => {
      if (this.failures > 0) {
        this.failures -= 1;
        throw new Error('the engine is busy');
      }
      const { promise: ended, resolve } = Promise.withResolvers<void>();
      const say = (text: string): void => onOutput(Buffer.from(`${text}\n`));
      const made = { end: resolve, say, isClosed: false };
      this.made.push(made);
      const write = async (bytes: Buffer): Promise<void> => void this.taken.push(`${bytes}`.trim());
      const close = (): void => {
        made.isClosed = true;
      };
      return { ended, write, close };
    };
    const recentOutput = async (): Promise<Buffer> => Buffer.from('before\n');
    const watchUsage = () => (): void => {};
    return { attach, recentOutput, watchUsage } as unknown as Engine;
  }

  get lines(): readonly string[] {
    return this.connection.console.last(100);
  }
}

test('a console that is open stays, so that no line and no command is lost between two', async () => {
  const seen = new Consoles();
  const { connection } = seen;
  const first = connection.reattach();
  const command = connection.writeCommand('say a');
  // The engine reports that events may have been missed: before it is connected, and after.
  const second = connection.reattach();
  await Promise.all([first, command, second]);
  await connection.reattach();
  await connection.writeCommand('say b');
  seen.made[0]?.say('said b');
  assert.equal(seen.made.length, 1);
  assert.deepEqual(seen.taken, ['say a', 'say b']);
  assert.deepEqual(seen.lines, ['before', 'said b']);
});

test('a console that ended, or could not be had, is made again', async () => {
  const seen = new Consoles();
  const { connection } = seen;
  seen.failures = 1;
  await assert.rejects(connection.reattach(), /busy/);
  await connection.reattach();
  seen.made[0]?.end();
  await Promise.resolve();
  assert.equal(seen.detached, 1);
  // Also what it wrote before the first one that could be had.
  assert.deepEqual(seen.lines, ['before']);
  await connection.reattach();
  await connection.writeCommand('say a');
  assert.equal(seen.made.length, 2);
  connection.close();
  await connection.reattach();
  assert.deepEqual(
    seen.made.map(({ isClosed }) => isClosed),
    [true, true, false],
  );
});

test('a console that could not be had is asked for again by the machine, as one that ended', async () => {
  const seen = new Consoles();
  const events: string[] = [];
  const none = (): void => {};
  const adapter = new EngineAdapter({
    uuid: 'uuid',
    connection: seen.connection,
    launched: () => null,
    log: { debug: none, info: none, warn: none, error: none },
    post: ({ kind }) => void events.push(kind),
  } as Partial<EngineAdapterOptions> as EngineAdapterOptions);
  seen.failures = 1;
  adapter.perform({ kind: 'attach', run: 1 });
  await assert.rejects(seen.connection.reattach(), /busy/);
  await new Promise(setImmediate);
  assert.deepEqual(events, ['detached']);
  adapter.perform({ kind: 'attach', run: 1 });
  await seen.connection.reattach();
  assert.deepEqual(events, ['detached']);
  assert.ok(seen.connection.isAttached);
});
