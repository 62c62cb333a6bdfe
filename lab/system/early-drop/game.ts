import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import {
  CLIENT,
  CLIENT_PORT,
  type ForwardingWire,
  SERVER,
  SERVER_PORT,
} from '../../differential/forwarding-wire.ts';
import type { Namespace } from '../../stack/netns.ts';

const PATIENCE_MS = 30_000;

export async function eventually(condition: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (!(await condition())) {
    assert.ok(performance.now() < deadlineMs, 'it never came');
    await wait(100);
  }
}

const ECHO = `import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("${SERVER[4]}", ${SERVER_PORT}))
print("ready", flush=True)
while True:
    data, peer = s.recvfrom(2048)
    s.sendto(data, peer)`;

/** Requests of a game, each with an answer. */
export const TURNS = 20;

/** Prints whether all of a few requests were answered. */
const PLAYER = `import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("${CLIENT[4]}", ${CLIENT_PORT}))
s.settimeout(5)
print("ready", flush=True)
while True:
    input()
    try:
        for turn in range(${TURNS}):
            s.sendto(b"%d" % turn * 40, ("${SERVER[4]}", ${SERVER_PORT}))
            while s.recv(2048) != b"%d" % turn * 40:
                pass
        print("answered", flush=True)
    except TimeoutError:
        print("silent", flush=True)`;

/** A server behind the edge and its player, by UDP over IPv4. */
export interface Game {
  /** Whether the server answers all requests. */
  play(): Promise<boolean>;
  stop(): void;
}

export async function playOn(wire: ForwardingWire): Promise<Game> {
  const server = await speak(wire.behind, ECHO);
  const player = await speak(wire.client, PLAYER);
  return {
    play: async () => (await player.ask()) === 'answered',
    stop: () => {
      server.stop();
      player.stop();
    },
  };
}

interface Speaker {
  /** Sends a line and returns the next one. */
  ask(): Promise<string>;
  stop(): void;
}

async function speak(namespace: Namespace, script: string): Promise<Speaker> {
  const child = namespace.spawn(['python3', '-c', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  if (child.stdout === null) throw new Error('no output is read');
  const lines = createInterface({ input: child.stdout });
  await once(lines, 'line');
  return {
    ask: async () => {
      const answer = once(lines, 'line');
      child.stdin?.write('\n');
      return String((await answer)[0]);
    },
    stop: () => void child.kill(),
  };
}
