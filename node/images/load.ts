import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { Archive, type Image, imageId } from './archive.ts';
import type { Cache } from './cache.ts';

const PING_MS = 10_000;
const LOAD_MS = 300_000;
const BODY_CHARS = 2_000;

/** Rejects in words when no engine answers at the socket. */
export async function findEngine(socketPath: string): Promise<void> {
  const asked = request({ socketPath, path: '/_ping', signal: AbortSignal.timeout(PING_MS) });
  asked.end();
  try {
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    answer.resume();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(
      `Docker does not answer at ${socketPath}: ${why}. Install or start it (sudo apt-get install -y docker.io), name another socket with --docker-host, or make the images for later with --only-make.`,
      { cause: error },
    );
  }
}

/** Gives the images to the Docker engine at the socket; those that it has already are not sent. Their references. */
export async function loadImages(
  cache: Cache,
  socketPath: string,
  images: readonly Image[],
): Promise<string[]> {
  const missing: Image[] = [];
  for (const image of images)
    if ((await knownId(socketPath, image.reference)) !== imageId(image)) missing.push(image);
  if (missing.length === 0) return [];
  const archive = new Archive(cache, missing);
  try {
    await send(socketPath, archive.folder);
  } finally {
    archive.remove();
  }
  return missing.map(({ reference }) => reference);
}

async function send(socketPath: string, folder: string): Promise<void> {
  const tar = spawn('tar', ['--create', '--file=-', '--directory', folder, '.'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const asked = request({
    socketPath,
    method: 'POST',
    path: '/images/load?quiet=1',
    headers: { 'content-type': 'application/x-tar' },
    signal: AbortSignal.timeout(LOAD_MS),
  });
  const answered = once(asked, 'response') as Promise<[IncomingMessage]>;
  const [[answer]] = await Promise.all([answered, pipeline(tar.stdout, asked)]);
  const body = await text(answer);
  // It answers 200 before it begins, and says in its stream how it ended.
  if (answer.statusCode !== 200 || body.includes('"error'))
    throw new Error(
      `the engine did not take the images: ${answer.statusCode} ${body.slice(0, BODY_CHARS)}`,
    );
}

/** null: it has no such image. */
async function knownId(socketPath: string, reference: string): Promise<string | null> {
  const asked = request({
    socketPath,
    path: `/images/${reference}/json`,
    signal: AbortSignal.timeout(LOAD_MS),
  });
  asked.end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  const body = await text(answer);
  return answer.statusCode === 200 ? (JSON.parse(body) as { readonly Id: string }).Id : null;
}
