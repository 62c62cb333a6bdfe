import { type ClientRequest, request } from 'node:http';
import type { FileHost } from '../../stack/file-host.ts';
import { eventually } from '../stack-fixture.ts';

const PATIENCE_MS = 120_000;

/** A file that is uploaded through a replica. */
export interface UploadedFile {
  readonly host: FileHost;
  readonly path: string;
  readonly bytes: Buffer;
  /** Default: the first. */
  readonly replica?: number;
  /** The uuid of the server. Default: the one that the host has from its start. */
  readonly server?: string;
}

interface Received {
  readonly received: number;
  readonly size: number | null;
  readonly done: boolean;
}

/** Begins an upload, sends the first half, and holds the connection open. Resolves when the node has some of it. */
export async function beginUpload(file: UploadedFile): Promise<ClientRequest> {
  const { host, path, bytes, replica = 0, server = host.uuid } = file;
  const url = `${host.url(replica)}/api/x1/game-servers/${server}/files/upload?path=${path}&offset=0&size=${bytes.length}`;
  const upload = request(url, {
    method: 'PUT',
    headers: { authorization: `Bearer ${host.key}`, 'content-length': String(bytes.length) },
  });
  upload.on('error', () => undefined);
  upload.on('response', (response) => response.resume());
  upload.write(bytes.subarray(0, bytes.length / 2));
  await eventually(
    'the node has some of it',
    async () => ((await received(file))?.received ?? 0) > 1024 * 1024,
    PATIENCE_MS,
  );
  return upload;
}

async function received({
  host,
  path,
  replica = 0,
  server = host.uuid,
}: UploadedFile): Promise<Received | null> {
  try {
    const response = await host.call(`/upload?path=${path}`, {}, replica, server);
    if (response.status !== 200) return null;
    return ((await response.json()) as { readonly data: Received }).data;
  } catch {
    return null;
  }
}

/** Goes on with an upload until the file is whole, as clients do. Returns from where it went on first. */
export async function finishUpload(file: UploadedFile): Promise<number> {
  const { host, path, bytes, replica = 0, server = host.uuid } = file;
  let first = -1;
  await eventually(
    'the upload is whole',
    async () => {
      const known = await received(file);
      if (known === null) return false;
      const offset = known.size === bytes.length ? known.received : 0;
      if (first < 0) first = offset;
      const query = `path=${path}&offset=${offset}&size=${bytes.length}`;
      const body = new Uint8Array(bytes.subarray(offset));
      const reply = await host
        .call(`/upload?${query}`, { method: 'PUT', body }, replica, server)
        .catch(() => null);
      if (reply?.status !== 200) return false;
      return ((await reply.json()) as { readonly data: Received }).data.done;
    },
    PATIENCE_MS,
  );
  return first;
}

/** Reads a file through a replica. On a busy machine the node may be away for a moment. */
export async function readWhole({
  host,
  path,
  replica = 0,
  server = host.uuid,
}: Omit<UploadedFile, 'bytes'>): Promise<Buffer> {
  let bytes = Buffer.alloc(0);
  await eventually(
    'the file is read',
    async () => {
      const reply = await host.call(`/content?path=${path}&raw=true`, {}, replica, server);
      bytes = Buffer.from(await reply.arrayBuffer());
      return reply.status === 200;
    },
    PATIENCE_MS,
  );
  return bytes;
}
