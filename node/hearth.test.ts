import assert from 'node:assert/strict';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { parseEgg } from '@portcullis/core/game-servers/eggs/parse-egg.ts';
import { DoneMatcher } from './console/server-console.ts';
import { openProcessImages } from './process-images.ts';

const EGG = parseEgg(readFileSync(join(import.meta.dirname, '..', 'eggs', 'hearth.json'), 'utf8'));

describe('the shipped example', () => {
  it('has an egg that matches the program: image, done line, stop', async (t) => {
    assert.ok(EGG.ok, EGG.ok ? '' : EGG.reason);
    assert.deepEqual(EGG.value.notes, []);
    const { egg } = EGG.value;
    const [image] = egg.images;
    assert.ok(image?.local === true && Object.hasOwn(openProcessImages(), image.reference));
    const server = await start(t);
    const matcher = new DoneMatcher(egg.done);
    assert.ok(
      server
        .output()
        .split('\n')
        .some((line) => matcher.matches(line, 0)),
    );
    assert.ok(egg.stop.kind === 'command');
    server.command(egg.stop.command);
    assert.deepEqual(await once(server.child, 'exit'), [0, null]);
  });

  it('lets several players meet, talk and carry things, and receive console messages', async (t) => {
    const server = await start(t);
    const ada = await enter(t, server, 'Ada');
    const bob = await enter(t, server, 'Bob');
    await ada.until('Bob comes in.');
    bob.type('say hello there');
    await ada.until('Bob: hello there');
    ada.type('take boots');
    await bob.until('Ada takes the boots.');
    server.command('say the gate closes soon');
    await ada.until('The house: the gate closes soon');
    await bob.until('The house: the gate closes soon');
    server.command('list');
    await server.until('2 here: Ada, Bob');
    server.command('kick Bob');
    await bob.until('You are shown the door.');
    await ada.until('Bob is gone.');
  });

  it('keeps the world after a stop of any kind, and after a kill following a save', async (t) => {
    const folder = folderOf(t);
    const first = await start(t, folder);
    const ada = await enter(t, first, 'Ada');
    ada.type('take boots');
    await ada.until('You take the boots.');
    ada.type('north');
    await ada.until('The tower');
    first.child.kill('SIGTERM');
    assert.deepEqual(await once(first.child, 'exit'), [0, null]);
    await ada.until('The fire goes out.');

    const second = await start(t, folder);
    const again = await enter(t, second, 'Ada');
    await again.until('The tower');
    again.type('drop boots');
    await again.until('You drop the boots.');
    second.command('save');
    await second.until('The world is saved');
    second.child.kill('SIGKILL');
    await once(second.child, 'exit');

    const third = await start(t, folder);
    await (await enter(t, third, 'Bob')).until('On the floor: bread, ladle', 'east');
    await (await enter(t, third, 'Ada')).until('On the floor: spyglass, boots');
  });

  it('starts a new world and keeps an unreadable one', async (t) => {
    const folder = folderOf(t);
    writeFileSync(join(folder, 'world.json'), '{"items": {"hall": [1]}, "players": {}}');
    await (await start(t, folder)).until('begins anew');
    assert.match(readFileSync(join(folder, 'world.json.broken'), 'utf8'), /hall/);
  });

  it('rejects duplicate names, players above the limit, and endless lines', async (t) => {
    const server = await start(t, folderOf(t), { MAX_PLAYERS: '2' });
    await enter(t, server, 'Ada');
    const other = await enter(t, server, 'Ada', 'Somebody of that name is here already.');
    const third = await client(t, server.port);
    await third.until('There is no room by the fire now.');
    other.type('x'.repeat(2000));
    await other.closed;
    const next = await enter(t, server, 'Bob');
    next.type('who');
    await next.until('Here are: Ada, Bob');
  });

  it('reports why it cannot listen, and exits', async (t) => {
    const server = run(t, folderOf(t), { SERVER_IP: '192.0.2.1' });
    await server.until('cannot listen on 192.0.2.1');
    assert.deepEqual(await once(server.child, 'exit'), [1, null]);
  });
});

interface Running {
  readonly child: ChildProcessWithoutNullStreams;
  readonly output: () => string;
  readonly until: (text: string) => Promise<void>;
  readonly command: (line: string) => void;
}

async function start(
  t: TestContext,
  folder = folderOf(t),
  env: Readonly<Record<string, string>> = {},
): Promise<Running & { readonly port: number }> {
  const server = run(t, folder, env);
  await server.until('Ready on');
  return { ...server, port: Number(/Ready on 127\.0\.0\.1:(\d+)/.exec(server.output())?.[1]) };
}

function run(t: TestContext, folder: string, env: Readonly<Record<string, string>>): Running {
  const [command = '', ...args] = openProcessImages()['portcullis/hearth']?.entrypoint ?? [];
  const child = spawn(command, args, {
    cwd: folder,
    env: { SERVER_IP: '127.0.0.1', SERVER_PORT: '0', ...env },
  });
  t.after(() => child.kill('SIGKILL'));
  const { until, text } = reading(child.stdout);
  return { child, output: text, until, command: (line) => child.stdin.write(`${line}\n`) };
}

interface Player {
  readonly type: (line: string) => void;
  /** Sends `line` first if given. */
  readonly until: (text: string, line?: string) => Promise<void>;
  readonly closed: Promise<unknown>;
}

async function enter(
  t: TestContext,
  server: { readonly port: number },
  name: string,
  answer = 'Ways:',
): Promise<Player> {
  const player = await client(t, server.port);
  await player.until('Who are you?');
  player.type(name);
  await player.until(answer);
  return player;
}

async function client(t: TestContext, port: number): Promise<Player> {
  const socket: Socket = connect(port, '127.0.0.1');
  t.after(() => socket.destroy());
  socket.on('error', () => undefined);
  const { until } = reading(socket);
  const closed = once(socket, 'close');
  await once(socket, 'connect');
  const type = (line: string): void => void socket.write(`${line}\r\n`);
  return {
    type,
    closed,
    until: (text, line) => {
      if (line !== undefined) type(line);
      return until(text);
    },
  };
}

/** The text of a stream; `until` waits for a part of it, and fails after a timeout with the whole text. */
function reading(stream: NodeJS.ReadableStream): {
  readonly text: () => string;
  readonly until: (text: string) => Promise<void>;
} {
  let text = '';
  const waiting = new Set<() => void>();
  stream.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    for (const look of waiting) look();
  });
  const until = (wanted: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const give = setTimeout(() => {
        waiting.delete(look);
        reject(new Error(`no "${wanted}" in: ${text}`));
      }, 20_000);
      const look = (): void => {
        if (!text.includes(wanted)) return;
        clearTimeout(give);
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  return { text: () => text, until };
}

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-hearth-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
