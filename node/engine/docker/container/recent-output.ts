import type { DockerClient } from '../api/client.ts';

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
