import { basename } from 'node:path';
import { EngineError, type ImageRef } from '../../engine.ts';
import { openProcessImages } from '../../../process-images.ts';
import { RECIPES, referenceOf } from '../../../images/recipes.ts';
import type { DockerClient } from '../api/client.ts';
import { DockerRefusal } from '../api/errors.ts';
import { readJsonLines } from '../api/json-lines.ts';
import { registryAuth } from '../api/registry-login.ts';

export interface ImageStart {
  readonly hasCommand: boolean;
  /** The first word of the entrypoint, else of the command; '' without either. */
  readonly program: string;
}

/** When an image that this node has is asked for at its registry: at each start, as Wings does, or never. */
export type PullPolicy = 'always' | 'missing';

export interface PullSettings {
  readonly policy: PullPolicy;
  /** The file that `docker login` writes. */
  readonly loginFile: string;
}

/** The longest time without progress, and the timeout of the first answer. */
const PATIENT = { silenceMs: 120_000, responseMs: 60_000 };
/** The same for an image that is here: a registry that is away must not keep a server from its start. */
const BRIEF = { silenceMs: 30_000, responseMs: 15_000 };
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
  const words = [...(entrypoint ?? []), ...(command ?? [])];
  return { hasCommand: words.length > 0, program: words[0] ?? '' };
}

/** Programs that reap children and forward signals as process 1; a second one above them is refused by some. */
const INITS = new Set(['tini', 'tini-static', 'dumb-init', 'docker-init', 'catatonit', 'init']);

export function isInit(program: string): boolean {
  return INITS.has(basename(program));
}

/** Implements `Engine.pull`. */
export async function pullImage(
  client: DockerClient,
  settings: PullSettings,
  image: ImageRef,
  onProgress: (line: string) => void,
  signal: AbortSignal,
): Promise<string | null> {
  if (signal.aborted) throw new EngineError('aborted', 'The pull was cancelled.');
  const { reference, local } = image;
  const isHere = (await inspectImage(client, reference)) !== null;
  // What a digest names never changes.
  if (isHere && (local || settings.policy === 'missing' || reference.includes('@'))) return null;
  if (local) throw missingImage(reference, describeLocal(reference));
  let isNewer = false;
  const watch = (line: string): void => {
    isNewer ||= line.startsWith('Status: Downloaded newer');
    onProgress(line);
  };
  try {
    const auth = await registryAuth(reference, settings.loginFile);
    await pull(client, { reference, auth, limits: isHere ? BRIEF : PATIENT }, watch, signal);
  } catch (error) {
    if (signal.aborted) throw new EngineError('aborted', 'The pull was cancelled.');
    if (!(error instanceof DockerRefusal || error instanceof EngineError)) throw error;
    const isAway = error instanceof EngineError && error.code === 'unreachable';
    if (isHere && !isAway)
      return `The image ${reference} could not be refreshed (${error.message.slice(0, SHOWN)}); this node's copy of it is used.`;
    throw error instanceof EngineError ? error : missingImage(reference, error.message, error);
  }
  return isNewer ? `A newer image ${reference} was fetched.` : null;
}

/** Says what to do about a local image, which is never pulled. */
function describeLocal(reference: string): string {
  if (Object.hasOwn(openProcessImages(), reference)) {
    return 'it comes with Portcullis and needs no Docker, but this node was started with --engine docker: start it with --engine both';
  }
  const recipe = RECIPES.find((one) => referenceOf(one) === reference);
  return recipe === undefined
    ? 'it is a local image, which this node never pulls: build or load it here under this name'
    : `it is made on this host: in the portal where a server is created, or with "portcullis images ${recipe.name}"; then install the server again`;
}

export function missingImage(reference: string, why: string, cause?: unknown): EngineError {
  const message = `The image ${reference} is missing: ${why.slice(0, SHOWN)}.`;
  return new EngineError('missing_image', message, { cause });
}

interface Pull {
  readonly reference: string;
  /** The header `X-Registry-Auth`. */
  readonly auth: string | null;
  readonly limits: typeof PATIENT;
}

async function pull(
  client: DockerClient,
  { reference, auth, limits }: Pull,
  onProgress: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const silence = new AbortController();
  const stream = await client.stream('POST', '/images/create', {
    query: splitReference(reference),
    ...(auth !== null && { headers: { 'X-Registry-Auth': auth } }),
    limitMs: limits.responseMs,
    signal: AbortSignal.any([signal, silence.signal]),
  });
  const timer = setTimeout(() => silence.abort(), limits.silenceMs);
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
