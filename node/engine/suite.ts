import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { it } from 'node:test';
import {
  type Console,
  type Engine,
  EngineError,
  type EngineEvent,
  type Instance,
  type InstanceSpec,
  type Usage,
} from './engine.ts';

/** One engine, and what the suite needs to run a game on it that behaves like `GAME`. */
export interface Subject {
  readonly engine: Engine;
  /** Another engine over the same instances, as after a restart of the agent; the suite closes it. */
  readonly again: () => Engine;
  /** For the game, with its own folder. */
  readonly spec: (uuid: string) => InstanceSpec;
  /** A free address and port. */
  readonly freePort: () => { readonly ip: string; readonly port: number };
}

/**
 * The game of the suite as a shell script. Prints `ready` and its $GREETING, then reads lines: `say X` prints X, `flood
 * N` prints N lines, `exit N` exits with N. TERM prints `saving` and exits with 0; INT does nothing.
 */
export const GAME = `trap 'echo saving; exit 0' TERM; trap '' INT
echo "ready $GREETING"
while read -r verb rest; do case "$verb" in
say) echo "said $rest" ;;
flood) seq 1 "$rest" ;;
exit) exit "$rest" ;;
esac; done`;

const TIMEOUT_MS = 15_000;

/** The guarantees of every engine. */
export function engineSuite(open: () => Subject): void {
  it('describes itself', async () => {
    const { engine } = open();
    assert.match((await engine.describe()).version, /\S/);
    await engine.ping();
  });

  it('reports a missing instance as absent, and accepts kill, signal and remove for it', async () => {
    const { engine } = open();
    const uuid = randomUUID();
    assert.equal(await engine.inspect(uuid), null);
    await engine.kill(uuid);
    await engine.signal(uuid, 'SIGTERM');
    await engine.remove(uuid);
    await assert.rejects(engine.start(uuid), { name: 'EngineError', code: 'not_found' });
    await assert.rejects(
      engine.attach(uuid, () => {}),
      { name: 'EngineError', code: 'not_found' },
    );
  });

  it('rejects a missing image with an explanation', async () => {
    const subject = open();
    const spec = { ...subject.spec(randomUUID()) };
    const image = { reference: 'not-there:1', local: true };
    const never = new AbortController().signal;
    await assert.rejects(
      subject.engine.pull(image, () => {}, never),
      {
        name: 'EngineError',
        code: 'missing_image',
        message: /not-there:1/,
      },
    );
    await assert.rejects(subject.engine.create({ ...spec, image }), {
      name: 'EngineError',
      code: 'missing_image',
      message: /not-there:1/,
    });
    assert.equal(await subject.engine.inspect(spec.uuid), null);
  });

  it('runs an instance from creation to a graceful end, and reports it', async () => {
    await play(open(), async (game) => {
      assert.equal((await game.inspect()).status, 'created');
      await game.start();
      await game.waitForOutput(/ready hello\r?\n/);
      const { status, exitCode, startedAtMs } = await game.inspect();
      assert.deepEqual([status, exitCode], ['running', null]);
      assert.ok(startedAtMs !== null);
      await game.engine.start(game.uuid);
      await game.engine.signal(game.uuid, 'SIGINT');
      await game.console.write(Buffer.from('say still here\n'));
      await game.waitForOutput(/said still here\r?\n/);
      await game.engine.signal(game.uuid, 'SIGTERM');
      const ended = await game.waitForReport('exited');
      await game.waitForOutput(/saving\r?\n/);
      assert.deepEqual([ended?.exitCode, ended?.oomKilled], [0, false]);
      let isEnded = false;
      void game.console.ended.then(() => (isEnded = true));
      await eventually(() => isEnded);
    });
  });

  it('reports the exit code of an instance that ends by itself, and starts it again', async () => {
    await play(open(), async (game) => {
      await game.start();
      await game.console.write(Buffer.from('exit 7\n'));
      assert.equal((await game.waitForReport('exited'))?.exitCode, 7);
      // The kernel closes the two pipes of a process that exits one after the other.
      await eventually(() =>
        game.console.write(Buffer.from('say too late\n')).then(
          () => false,
          (error: unknown) => error instanceof EngineError && error.code === 'refused',
        ),
      );
      await game.replace();
      await game.start();
      await game.waitForOutput(/ready hello[^]*ready hello/);
      assert.equal((await game.inspect()).status, 'running');
    });
  });

  it('kills at once; another kill has no effect', async () => {
    await play(open(), async (game) => {
      await game.start();
      await game.waitForOutput(/ready/);
      await Promise.all(Array.from({ length: 10 }, () => game.engine.kill(game.uuid)));
      assert.equal((await game.waitForReport('exited'))?.exitCode, 137);
      await game.engine.kill(game.uuid);
      await game.engine.signal(game.uuid, 'SIGTERM');
      assert.equal((await game.inspect()).exitCode, 137);
    });
  });

  it('removes a running instance and reports it', async () => {
    await play(open(), async (game) => {
      await game.start();
      await game.engine.remove(game.uuid);
      await game.waitForReport(null);
    });
  });

  it('does not replace a running instance', async () => {
    const subject = open();
    await play(subject, async (game) => {
      await game.start();
      await assert.rejects(subject.engine.create(subject.spec(game.uuid)), {
        name: 'EngineError',
        code: 'refused',
      });
      assert.equal((await game.inspect()).status, 'running');
    });
  });

  it('names a port in use', async () => {
    const subject = open();
    const { ip, port } = subject.freePort();
    const ports = [{ ip, port, protocol: 'tcp' as const }];
    await play({ ...subject, spec: (uuid) => ({ ...subject.spec(uuid), ports }) }, async (game) => {
      await game.start();
      const other = { ...subject.spec(randomUUID()), ports };
      await subject.engine.create(other);
      try {
        await assert.rejects(subject.engine.start(other.uuid), {
          name: 'EngineError',
          code: 'port_taken',
          message: new RegExp(`${port}`),
        });
        assert.notEqual((await subject.engine.inspect(other.uuid))?.status, 'running');
      } finally {
        await subject.engine.remove(other.uuid);
      }
    });
  });

  it('keeps the requested amount of the last output', async () => {
    await play(open(), async (game) => {
      await game.start();
      await game.waitForOutput(/ready hello/);
      await game.console.write(Buffer.from('flood 2000\nsay done\n'));
      await game.waitForOutput(/said done/);
      let recent = Buffer.alloc(0);
      // Docker writes its log beside the console, and later on a busy machine.
      await eventually(async () => {
        recent = Buffer.from(await game.engine.recentOutput(game.uuid, 1000));
        return recent.includes('said done');
      });
      assert.ok(recent.length <= 1000, `${recent.length} bytes`);
      assert.match(recent.toString(), /1999\r?\n2000\r?\nsaid done\r?\n$/);
      const all = await game.engine.recentOutput(game.uuid, 60_000);
      assert.match(all.toString(), /^(?:[^\n]*\n)?ready hello\r?\n/);
    });
  });

  it('finds instances and their consoles after a restart', async () => {
    const subject = open();
    await play(subject, async (game) => {
      await game.start();
      await game.waitForOutput(/ready/);
      const again = subject.again();
      try {
        assert.equal((await again.inspect(game.uuid))?.status, 'running');
        assert.ok((await again.list()).some(({ uuid }) => uuid === game.uuid));
        let received = '';
        const events: EngineEvent[] = [];
        const stop = again.onEvent((event) => events.push(event));
        const console = await again.attach(game.uuid, (chunk) => (received += chunk.toString()));
        await console.write(Buffer.from('say from the second\n'));
        await eventually(() => /said from the second/.test(received));
        await again.kill(game.uuid);
        await eventually(() => events.some(({ kind }) => kind === 'changed'));
        assert.equal(events[0]?.kind, 'gap');
        stop();
      } finally {
        await again.close();
      }
    });
  });

  it('measures resources until the watch is stopped', async () => {
    await play(open(), async (game) => {
      await game.start();
      const seen: Usage[] = [];
      const stop = game.engine.watchUsage(game.uuid, (usage) => seen.push(usage));
      await eventually(() => seen.length > 1);
      stop();
      for (const { memoryBytes, cpuPercent } of seen) {
        assert.ok(memoryBytes > 0, 'memory');
        assert.ok(cpuPercent >= 0 && Number.isFinite(cpuPercent), 'cpu');
      }
    });
  });
}

/** An instance under test. */
interface Game {
  readonly uuid: string;
  readonly engine: Engine;
  readonly console: Console;
  start(): Promise<void>;
  /** Creates it again, with a console. */
  replace(): Promise<void>;
  inspect(): Promise<Instance>;
  waitForOutput(pattern: RegExp): Promise<void>;
  /** Waits for an event after which the instance has this status, or is gone. */
  waitForReport(status: Instance['status'] | null): Promise<Instance | null>;
}

async function play(subject: Subject, test: (game: Game) => Promise<void>): Promise<void> {
  const { engine } = subject;
  const uuid = randomUUID();
  const spec = { ...subject.spec(uuid), env: { ...subject.spec(uuid).env, GREETING: 'hello' } };
  let listens = false;
  /** The inspection after the last event. */
  let reported: Instance | null | undefined;
  const stop = engine.onEvent((event) => {
    listens = true;
    if (!('uuid' in event) || event.uuid !== uuid) return;
    void engine.inspect(uuid).then((instance) => (reported = instance));
  });
  let received = '';
  let console: Console;
  const create = async (): Promise<void> => {
    await engine.pull(spec.image, () => {}, new AbortController().signal);
    await engine.create(spec);
    console = await engine.attach(uuid, (chunk) => (received += chunk.toString()));
  };
  const inspect = async (): Promise<Instance> => {
    const instance = await engine.inspect(uuid);
    assert.ok(instance !== null, 'it is there');
    return instance;
  };
  try {
    await eventually(() => listens);
    await create();
    await test({
      uuid,
      engine,
      get console() {
        return console;
      },
      start: () => engine.start(uuid),
      replace: create,
      inspect,
      waitForOutput: (pattern) =>
        eventually(
          () => pattern.test(received),
          () => `${pattern} in: ${received.slice(-2000)}`,
        ),
      waitForReport: async (status) => {
        await eventually(
          () => reported !== undefined && (reported?.status ?? null) === status,
          () => `${status}`,
        );
        return reported ?? null;
      },
    });
  } finally {
    stop();
    await engine.remove(uuid);
  }
}

async function eventually(
  holds: () => boolean | Promise<boolean>,
  hoped = (): string => '',
): Promise<void> {
  const until = performance.now() + TIMEOUT_MS;
  while (!(await holds())) {
    if (performance.now() > until) assert.fail(`it never came: ${hoped()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
