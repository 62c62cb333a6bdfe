import { randomUUID } from 'node:crypto';
import type { InstanceSpec } from '@portcullis/node/engine/engine.ts';
import type { DockerFixture } from './docker-fixture.ts';

/** A server whose console takes commands of a shell, to look around from where a game stands. */
export interface ServerShell {
  readonly uuid: string;
  /** Its address in its organisation's network. */
  address(family: 4 | 6): Promise<string>;
  /** Runs it inside; its exit status and what it printed. */
  run(command: string): Promise<{ readonly status: number; readonly output: string }>;
  /** Whether a TCP connection from inside comes about and brings something. */
  reaches(ip: string, port: number): Promise<boolean>;
  /** The same where it is not hoped for: it is not waited for as long. */
  isKeptFrom(ip: string, port: number): Promise<boolean>;
  /** Those of them for which it does, all tried at once and not waited for long. */
  reached(targets: readonly (readonly [ip: string, port: number])[]): Promise<string[]>;
  remove(): Promise<void>;
}

/** Of a game: says `hello` to whoever connects. */
export const GAME_PORT = 7000;
const SCRIPT = `stty -echo
nc -ll -p ${GAME_PORT} -e echo hello &
while read -r line; do sh -c "$line"; echo "<status $?>"; done`;
/** Until a try counts as lost, unless it is said otherwise: whoever is hoped to answer has longer, which costs nothing. */
const REACH_S = 1;
const PATIENT_S = 10;
/** Of the kernel's list of sockets: who listens to the port. */
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
  // Typed before the echo is off, it would be heard again.
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
