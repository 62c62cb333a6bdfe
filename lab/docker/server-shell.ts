import { randomUUID } from 'node:crypto';
import type { InstanceSpec } from '@portcullis/node/engine/engine.ts';
import type { DockerFixture } from './docker-fixture.ts';

/** A server whose console runs shell commands, to test from inside a game's container. */
export interface ServerShell {
  readonly uuid: string;
  /** Its address in its organisation's network. */
  address(family: 4 | 6): Promise<string>;
  /** Runs a command inside; returns its exit status and output. */
  run(command: string): Promise<{ readonly status: number; readonly output: string }>;
  /** Whether a TCP connection from inside succeeds and delivers data. */
  reaches(ip: string, port: number): Promise<boolean>;
  /** The same with a shorter timeout, where a failure is expected. */
  isKeptFrom(ip: string, port: number): Promise<boolean>;
  /** Returns the addresses that answer, tried concurrently with a short timeout. */
  reached(targets: readonly (readonly [ip: string, port: number])[]): Promise<string[]>;
  remove(): Promise<void>;
}

/** Makes the game send `hello` on every connection. */
export const GAME_PORT = 7000;
const SCRIPT = `stty -echo
nc -ll -p ${GAME_PORT} -e echo hello &
while read -r line; do sh -c "$line"; echo "<status $?>"; done`;
/** Until a try counts as lost, unless it is said otherwise: whoever is hoped to answer has longer, which costs nothing. */
const REACH_S = 1;
const PATIENT_S = 10;
/** Listeners on the port, from the kernel's list of sockets. */
const LISTENS = `:${GAME_PORT.toString(16).toUpperCase().padStart(4, '0')} 0*:0000 0A`;
const RUN_MS = 20_000;

export async function startShell(
  fixture: DockerFixture,
  more: Partial<InstanceSpec> = {},
): Promise<ServerShell> {
  const uuid = randomUUID();
  const { engine } = fixture;
  await engine.create(fixture.spec(uuid, SCRIPT, more));
  let heard = '';
  let changed = (): void => {};
  const console = await engine.attach(uuid, (chunk) => {
    heard += chunk.toString();
    changed();
  });
  await engine.start(uuid);
  const run: ServerShell['run'] = async (command) => {
    heard = '';
    const { promise, resolve, reject } = Promise.withResolvers<{
      status: number;
      output: string;
    }>();
    changed = () => {
      const end = /<status (\d+)>/.exec(heard);
      if (end !== null)
        resolve({ status: Number(end[1]), output: heard.slice(0, end.index).replaceAll('\r', '') });
    };
    const late = setTimeout(() => reject(new Error(`no end of ${command}: ${heard}`)), RUN_MS);
    await console.write(Buffer.from(`${command}\n`));
    try {
      return await promise;
    } finally {
      clearTimeout(late);
    }
  };
  // Input typed before the echo is off would be printed again.
  await run('true');
  await run(`until grep -q '${LISTENS}' /proc/net/tcp /proc/net/tcp6; do sleep 0.05; done`);
  return {
    uuid,
    run,
    reached: (targets) => tried(run, targets, REACH_S),
    reaches: async (ip, port) => (await tried(run, [[ip, port]], PATIENT_S)).length === 1,
    isKeptFrom: async (ip, port) => (await tried(run, [[ip, port]], REACH_S)).length === 0,
    address: (family) => addressOf(fixture, uuid, family),
    remove: () => engine.remove(uuid),
  };
}

async function tried(
  run: ServerShell['run'],
  targets: readonly (readonly [ip: string, port: number])[],
  seconds: number,
): Promise<string[]> {
  const tries = targets.map(
    ([ip, port]) => `nc -w ${seconds} ${ip} ${port} </dev/null | sed s/hello/${ip}/ &`,
  );
  const { output } = await run(`${tries.join(' ')} wait`);
  return output.split('\n').filter((line) => targets.some(([ip]) => ip === line));
}

async function addressOf(fixture: DockerFixture, uuid: string, family: 4 | 6): Promise<string> {
  const path = `/containers/${await idOf(fixture, uuid)}/json`;
  const found = JSON.parse(await fixture.dockerd.call('GET', path));
  const [network] = Object.values<Record<string, string>>(found.NetworkSettings.Networks);
  return network?.[family === 4 ? 'IPAddress' : 'GlobalIPv6Address'] ?? '';
}

/** Docker's own name of a server's container. */
export async function idOf({ dockerd }: DockerFixture, uuid: string): Promise<string> {
  const filters = JSON.stringify({ label: [`portcullis.server=${uuid}`] });
  const query = new URLSearchParams({ all: 'true', filters });
  const [found] = JSON.parse(await dockerd.call('GET', `/containers/json?${query}`));
  return found.Id as string;
}
