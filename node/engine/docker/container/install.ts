import { isFarOver } from '../../../disk/disk-limit.ts';
import { EngineError, type InstallSpec } from '../../engine.ts';
import type { DockerClient } from '../api/client.ts';
import { renderInstall } from './container.ts';
import { giveFolder } from '../../../server-folder/give.ts';
import { ownerOf } from '../../folder-owner.ts';
import { FrameReader } from '../api/frames.ts';
import { inspectImage, missingImage } from './images.ts';
import type { Names } from '../labels.ts';
import type { ReadOnlyFile } from './read-only-files.ts';
import { setTimeout as delay } from 'node:timers/promises';

const STEP_MS = 60_000;

export interface InstallOrder {
  readonly spec: InstallSpec;
  /** The script. */
  readonly files: readonly ReadOnlyFile[];
}

/** Implements `Engine.runInstall`. */
export async function runInstall(
  client: DockerClient,
  names: Names,
  { spec, files }: InstallOrder,
  onOutput: (chunk: Buffer) => void,
  signal: AbortSignal,
): Promise<number> {
  const owner = await ownerOf(spec.folder);
  const { reference } = spec.image;
  if ((await inspectImage(client, reference)) === null)
    throw missingImage(reference, 'it is not on this node');
  const name = names.container(spec.uuid, 'install');
  await removeContainer(client, name);
  const mappedRoot = await client.mappedRoot();
  // The root of a user namespace may write only what is its own.
  if (mappedRoot !== null)
    await giveFolder(spec.folder, { owner: mappedRoot, formerUids: [owner.uid] });
  const created = await client.call('POST', '/containers/create', {
    query: { name },
    body: renderInstall(names, spec, files),
    limitMs: STEP_MS,
  });
  // Used by its id from here on, because another container may take over the name.
  const { Id: id } = created.body as { readonly Id: string };
  try {
    const layer = watchLayer(client, id, spec);
    try {
      const exitCode = await runToEnd(client, id, onOutput, signal);
      if (layer.over !== null) throw layer.over;
      return exitCode;
    } finally {
      layer.stop();
    }
  } catch (error) {
    if (signal.aborted) throw new EngineError('aborted', 'The install was cancelled.');
    throw error;
  } finally {
    await removeContainer(client, id);
    await giveFolder(spec.folder, { owner, formerUids: mappedRoot ? [mappedRoot.uid] : [] });
  }
}

/** Docker adds up a layer's files, which takes a while for many. */
const LAYER_MS = 3_000;
const MIB = 1024 * 1024;

/**
 * Ends an install that writes more than its disk limit outside of the server's folder, or is far above it with both: it is
 * root in its container, and would fill the disk of Docker.
 */
function watchLayer(
  client: DockerClient,
  id: string,
  { limits: { disk: limitMib }, folderBytes = () => 0 }: InstallSpec,
): { readonly over: EngineError | null; stop(): void } {
  const watched = { over: null as EngineError | null, stop: () => clearTimeout(timer) };
  const look = async (): Promise<void> => {
    const { body } = await client.call('GET', `/containers/${id}/json`, { query: { size: '1' } });
    const bytes = (body as { readonly SizeRw?: number }).SizeRw ?? 0;
    const inFolder = folderBytes();
    if (bytes > limitMib * MIB || isFarOver({ bytes: bytes + inFolder }, limitMib)) {
      const both = inFolder === 0 ? '' : ` and ${Math.ceil(inFolder / MIB)} MiB in it`;
      const written = `The install wrote ${Math.ceil(bytes / MIB)} MiB outside of the server's folder${both}`;
      watched.over = new EngineError(
        'refused',
        `${written}, more than the disk limit of ${limitMib} MiB.`,
      );
      await client.call('POST', `/containers/${id}/kill`, { expected: [404, 409] });
    } else timer = setTimeout(next, LAYER_MS);
  };
  // The container may end meanwhile, which ends the watch.
  const next = (): void => void look().catch(() => {});
  let timer = limitMib === 0 ? undefined : setTimeout(next, LAYER_MS);
  return watched;
}

async function runToEnd(
  client: DockerClient,
  id: string,
  onOutput: (chunk: Buffer) => void,
  signal: AbortSignal,
): Promise<number> {
  const { socket, head } = await client.hijack(`/containers/${id}/attach`, {
    stream: '1',
    stdout: '1',
    stderr: '1',
  });
  const frames = new FrameReader(onOutput);
  const drained = new Promise<void>((resolve) => socket.once('close', resolve));
  socket.on('error', () => socket.destroy());
  socket.once('end', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => frames.push(chunk));
  frames.push(head);
  try {
    await client.call('POST', `/containers/${id}/start`, { limitMs: STEP_MS, signal });
    // The caller limits the time: an install may download for an hour.
    const waiting = await client.stream('POST', `/containers/${id}/wait`, { signal });
    const chunks: Buffer[] = [];
    for await (const chunk of waiting as AsyncIterable<Buffer>) chunks.push(chunk);
    const { StatusCode: exitCode } = JSON.parse(Buffer.concat(chunks).toString()) as {
      readonly StatusCode: number;
    };
    await drained;
    return exitCode;
  } finally {
    socket.destroy();
  }
}

const REMOVE_MS = 60_000;
const ATTEMPTS = 20;
const RETRY_MS = 100;

/** Removes a container, also a running one. No-op when it is gone already. */
export async function removeContainer(client: DockerClient, nameOrId: string): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const { status } = await client.call('DELETE', `/containers/${nameOrId}`, {
      query: { force: 'true', v: 'true' },
      expected: [404, 409],
      limitMs: REMOVE_MS,
    });
    if (status !== 409) return;
    // Another program is removing it, and Docker offers no call to wait for that.
    await delay(RETRY_MS);
  }
  throw new EngineError('refused', 'Docker does not finish removing the container.');
}
