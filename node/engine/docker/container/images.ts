import { EngineError, type ImageRef } from '../../engine.ts';
import type { DockerClient } from '../api/client.ts';
import { DockerRefusal } from '../api/errors.ts';
import { readJsonLines } from '../api/json-lines.ts';

export interface ImageStart {
  readonly hasCommand: boolean;
}

/** The longest time without progress. */
const SILENCE_MS = 120_000;
/** The timeout of the first answer. */
const RESPONSE_MS = 60_000;
const SHOWN = 300;

interface ImageJson {
  readonly Config?: {
    readonly Entrypoint?: readonly string[] | null;
    readonly Cmd?: readonly string[] | null;
  } | null;
}

/** Returns null if the image is not on this node. */
export async function inspectImage(
  client: DockerClient,
  reference: string,
): Promise<ImageStart | null> {
  const path = `/images/${encodeURIComponent(reference)}/json`;
  const { status, body } = await client.call('GET', path, { expected: [404] });
  if (status === 404) return null;
  const { Entrypoint: entrypoint, Cmd: command } = (body as ImageJson).Config ?? {};
  return { hasCommand: (entrypoint?.length ?? 0) > 0 || (command?.length ?? 0) > 0 };
}

export async function pullImage(
  client: DockerClient,
  image: ImageRef,
  onProgress: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) throw new EngineError('aborted', 'The pull was cancelled.');
  if ((await inspectImage(client, image.reference)) !== null) return;
  if (image.local)
    throw missingImage(image.reference, 'it is a local image, which this node never pulls');
  try {
    await pull(client, image.reference, onProgress, signal);
  } catch (error) {
    if (signal.aborted) throw new EngineError('aborted', 'The pull was cancelled.');
    if (!(error instanceof DockerRefusal)) throw error;
    throw missingImage(image.reference, error.message, error);
  }
}

export function missingImage(reference: string, why: string, cause?: unknown): EngineError {
  const message = `The image ${reference} is missing: ${why.slice(0, SHOWN)}.`;
  return new EngineError('missing_image', message, { cause });
}

async function pull(
  client: DockerClient,
  reference: string,
  onProgress: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const silence = new AbortController();
  const stream = await client.stream('POST', '/images/create', {
    query: splitReference(reference),
    limitMs: RESPONSE_MS,
    signal: AbortSignal.any([signal, silence.signal]),
  });
  const timer = setTimeout(() => silence.abort(), SILENCE_MS);
  const reported = new Map<string, string>();
  try {
    for await (const value of readJsonLines(stream)) {
      timer.refresh();
      const { id = '', status = '', error } = value as Readonly<Record<string, string | undefined>>;
      // The HTTP status was 200, whatever happens later.
      if (error !== undefined) throw new DockerRefusal(500, error);
      if (reported.get(id) === status) continue;
      reported.set(id, status);
      onProgress(id === '' ? status : `${id}: ${status}`);
    }
  } catch (error) {
    if (silence.signal.aborted)
      throw missingImage(reference, 'the registry sent nothing more', error);
    if (error instanceof DockerRefusal || signal.aborted) throw error;
    throw new EngineError('unreachable', 'Docker stopped during the pull.', { cause: error });
  } finally {
    clearTimeout(timer);
    stream.destroy();
  }
}

/** Adds `latest` to a reference without a tag, for which Docker would pull all tags. */
function splitReference(reference: string): { readonly fromImage: string; readonly tag: string } {
  const digest = reference.indexOf('@');
  if (digest >= 0)
    return { fromImage: reference.slice(0, digest), tag: reference.slice(digest + 1) };
  const colon = reference.indexOf(':', reference.lastIndexOf('/') + 1);
  if (colon < 0) return { fromImage: reference, tag: 'latest' };
  return { fromImage: reference.slice(0, colon), tag: reference.slice(colon + 1) };
}
