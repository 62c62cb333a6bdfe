import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Limiter } from '@portcullis/link/limiter.ts';
import type { RunningJob } from '../jobs.ts';
import { FileRefusal } from '../refusal.ts';

/** Programs of libarchive that read archives which this process does not. */
export const CONVERTERS = {
  /** Makes a tar of any archive. */
  bsdtar: ['-cf', '-', '--format=pax', '@-'],
  /** Decompresses. */
  bsdcat: [],
} as const;
export type Converter = keyof typeof CONVERTERS;

const FOLDERS = ['/usr/bin', '/usr/local/bin', '/bin'] as const;
const CONFINED = fileURLToPath(new URL('confined.ts', import.meta.url));
/** Conversions of the node at once; more wait, fairly between servers. Each may take a GiB and a processor. */
const SLOTS = new Limiter(2);
const MAX_SAID = 4_096;

/** The job that an archive is converted for. */
export type ConvertingJob = Pick<RunningJob, 'server' | 'signal'>;

/**
 * The content of an archive, read by a process without rights: it has the archive as its input, and nothing else of the
 * host. Its output is as little trusted as the archive. Throws a refusal that names the package where the program is
 * missing, and an error with what the program says when it fails. Ended early, the process is killed.
 */
export async function* convert(
  { fd }: FileHandle,
  converter: Converter,
  { server, signal }: ConvertingJob,
  folders: readonly string[] = FOLDERS,
): AsyncGenerator<Buffer> {
  const program = folders.map((folder) => join(folder, converter)).find((one) => existsSync(one));
  if (program === undefined) {
    const detail = `The node reads 7z, rar, xz and bzip2 by ${converter}, which is not installed: its operator installs the package libarchive-tools.`;
    throw new FileRefusal('impossible', detail);
  }
  const leave = await enter(signal, server);
  try {
    yield* run(fd, program, converter, signal);
  } finally {
    leave();
  }
}

async function* run(
  fd: number,
  program: string,
  converter: Converter,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const child = begin(fd, program, CONVERTERS[converter]);
  const kill = (): void => void child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  const ended = once(child, 'close') as Promise<[code: number | null, signal: string | null]>;
  ended.catch(() => undefined);
  try {
    // One that could not be started may have no pipes.
    if (child.stdout === null || child.stderr === null) throw new Error('no process was started');
    const said = listen(child.stderr);
    signal.throwIfAborted();
    yield* child.stdout as AsyncIterable<Buffer>;
    const [code] = await ended;
    signal.throwIfAborted();
    if (code !== 0) throw new Error(describe(said(), code));
  } finally {
    signal.removeEventListener('abort', kill);
    kill();
  }
}

/** Waits for a slot. Returns what gives it back. */
async function enter(signal: AbortSignal, owner: string): Promise<() => void> {
  const entered = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const stay = (): Promise<void> => {
    entered.resolve();
    return left.promise;
  };
  SLOTS.run(stay, signal, { owner }).catch((error: unknown) => entered.reject(error));
  await entered.promise;
  return left.resolve;
}

function begin(input: number, program: string, args: readonly string[]): ChildProcess {
  // Without the environment of the agent, which holds its credential.
  const child = spawn(process.execPath, ['--no-warnings', CONFINED, program, ...args], {
    cwd: '/',
    env: {},
    stdio: [input, 'pipe', 'pipe'],
  });
  child.on('error', () => undefined);
  return child;
}

/** Returns the end of what a program says. */
function listen(stream: Readable): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (more: string) => {
    text = (text + more).slice(-MAX_SAID);
  });
  return () => text;
}

/** The last line that the program said, which quotes the archive. */
function describe(said: string, code: number | null): string {
  if (code === null) return 'it takes too much time or memory';
  const lines = said.split('\n').filter((line) => line.trim() !== '');
  const line = (lines.findLast((one) => !/exit delayed/i.test(one)) ?? '').replace(/^\w+: /, '');
  return line.replaceAll(/\p{Cc}/gu, ' ').slice(0, 200) || `the program ended with code ${code}`;
}
