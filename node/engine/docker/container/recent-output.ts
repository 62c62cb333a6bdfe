import type { DockerClient } from '../api/client.ts';
import { FrameReader } from '../api/frames.ts';

/** Of lines, which may be as short as nothing. */
const MAX_LINES = 10_000;
/** Read at most, whatever the log holds. */
const MAX_READ_BYTES = 16 * 1024 * 1024;

/** The end of what a container's log holds, at most `maxBytes`; more is never kept meanwhile than twice of that. */
export async function readRecentOutput(
  client: DockerClient,
  container: string,
  tty: boolean,
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
  const frames = new FrameReader(keep);
  let bytes = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      if (tty) keep(chunk);
      else frames.push(chunk);
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
  // A copy: a view would keep all of it.
  return Buffer.from(all.subarray(Math.max(0, all.length - maxBytes)));
}
