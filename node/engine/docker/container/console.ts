import type { Duplex } from 'node:stream';
import { type Console, EngineError } from '../../engine.ts';
import type { DockerClient } from '../api/client.ts';
import type { ContainerJson } from './instance.ts';

const WRITE_MS = 5_000;
/** The kernel's terminal silently drops the rest of a longer line. */
const MAX_LINE_BYTES = 4095;

/** Attaches a console to a container. */
export async function attachConsole(
  client: DockerClient,
  container: string,
  onOutput: (chunk: Buffer) => void,
): Promise<Console> {
  const { socket, head } = await client.hijack(`/containers/${container}/attach`, {
    stream: '1',
    stdin: '1',
    stdout: '1',
    stderr: '1',
  });
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  socket.on('error', () => socket.destroy());
  socket.once('close', () => resolve());
  // The container has closed its end, so further input would be lost.
  socket.once('end', () => socket.destroy());
  socket.on('data', onOutput);
  if (head.length > 0) onOutput(head);
  return {
    ended,
    write: async (bytes) => {
      // Docker accepts input for a moment after the end of a container, and drops it.
      const { body } = await client.call('GET', `/containers/${container}/json`);
      if (!(body as ContainerJson).State.Running || socket.destroyed)
        throw new EngineError('refused', 'The server takes no commands now.');
      await write(socket, bytes);
    },
    close: () => {
      socket.off('data', onOutput);
      socket.destroy();
    },
  };
}

async function write(socket: Duplex, bytes: Buffer): Promise<void> {
  const longest = bytes.length > MAX_LINE_BYTES ? longestLine(bytes) : 0;
  if (longest > MAX_LINE_BYTES)
    throw new EngineError(
      'refused',
      `The terminal of a container takes lines of at most ${MAX_LINE_BYTES} bytes, and this one has ${longest} as UTF-8. It was not sent.`,
    );
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(
    () => reject(new EngineError('timeout', 'The server does not read its console.')),
    WRITE_MS,
  );
  const gone = (): void =>
    reject(new EngineError('refused', 'The server ended before it took the command.'));
  socket.once('close', gone);
  socket.write(bytes, (error) => (error ? gone() : resolve()));
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    socket.off('close', gone);
  }
}

function longestLine(bytes: Buffer): number {
  let longest = 0;
  let begin = 0;
  for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, begin)) {
    longest = Math.max(longest, end - begin);
    begin = end + 1;
  }
  return Math.max(longest, bytes.length - begin);
}

/** Limit of the lines, which may be empty. */
const MAX_LINES = 10_000;
/** Limit of what is read of the log. */
const MAX_READ_BYTES = 16 * 1024 * 1024;

/** Returns the last `maxBytes` of the log of a container with a terminal; holds at most twice as much in memory. */
export async function readRecentOutput(
  client: DockerClient,
  container: string,
  maxBytes: number,
): Promise<Buffer> {
  const tail = String(Math.min(MAX_LINES, maxBytes));
  const signal = AbortSignal.timeout(READ_MS);
  const stream = await client.stream('GET', `/containers/${container}/logs`, {
    query: { stdout: '1', stderr: '1', tail },
    signal,
  });
  let kept: Buffer[] = [];
  let keptBytes = 0;
  const keep = (chunk: Buffer): void => {
    kept.push(chunk);
    keptBytes += chunk.length;
    if (keptBytes < 2 * maxBytes) return;
    kept = [lastOf(kept, maxBytes)];
    keptBytes = maxBytes;
  };
  let bytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      keep(chunk);
      bytes += chunk.length;
      if (bytes > MAX_READ_BYTES) break;
    }
  } finally {
    stream.destroy();
  }
  return lastOf(kept, maxBytes);
}

const READ_MS = 10_000;

function lastOf(chunks: readonly Buffer[], maxBytes: number): Buffer {
  const all = Buffer.concat(chunks);
  // Copied, because a view would keep the whole buffer in memory.
  return Buffer.from(all.subarray(Math.max(0, all.length - maxBytes)));
}
