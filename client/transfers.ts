import { ConnectionError, errorOf } from './errors.ts';
import type { FileUpload } from './generated/operations.ts';

export interface TransferSettings {
  readonly baseUrl: string;
  readonly key: string;
  readonly fetch?: typeof fetch;
}

/** A part of the file to upload, from `offset` on. */
export interface UploadPart {
  readonly slice: string;
  readonly path: string;
  readonly offset: number;
  /** The size of the whole file. */
  readonly size: number;
  readonly body: ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer>;
}

export interface DownloadedFile {
  /** False: the whole file, because it changed since the part before, or no part was asked for. */
  readonly isPart: boolean;
  /** Bytes of the answer; null: not known before. */
  readonly length: number | null;
  readonly etag: string | null;
  readonly body: ReadableStream<Uint8Array>;
}

/** The part of a file that is wanted: from a byte on, if the file still has this ETag. */
export interface Rest {
  readonly from: number;
  readonly etag: string;
}

/** Files of any size of a game server, as streams. Each call may throw a `PortcullisError`; none is repeated. */
export interface FileTransfers {
  upload(part: UploadPart, signal?: AbortSignal): Promise<FileUpload['data']>;
  download(
    file: { readonly slice: string; readonly path: string; readonly rest?: Rest | null },
    signal?: AbortSignal,
  ): Promise<DownloadedFile>;
}

export function createTransfers({
  baseUrl,
  key,
  fetch: callFetch = globalThis.fetch,
}: TransferSettings): FileTransfers {
  const call = async (
    { slice, name, query }: { slice: string; name: string; query: Record<string, string> },
    init: RequestInit & { readonly duplex?: 'half' },
  ): Promise<Response> => {
    const at = `${baseUrl.replace(/\/+$/, '')}/api/x1/game-servers/${encodeURIComponent(slice)}`;
    const url = `${at}/files/${name}?${new URLSearchParams(query)}`;
    const headers = { authorization: `Bearer ${key}`, ...(init.headers as object) };
    try {
      // Never followed: a key must not be sent to another host.
      return await callFetch(url, { ...init, headers, redirect: 'error' });
    } catch (error) {
      if (init.signal?.aborted === true) throw init.signal.reason;
      throw new ConnectionError('The connection broke off.', { cause: error });
    }
  };
  return {
    async upload({ slice, path, offset, size, body }, signal) {
      const query = { path, offset: String(offset), size: String(size) };
      const response = await call(
        { slice, name: 'upload', query },
        { method: 'PUT', body, duplex: 'half', ...(signal && { signal }) },
      );
      const text = await response.text();
      if (!response.ok) throw errorOf(response, text);
      return (JSON.parse(text) as FileUpload).data;
    },
    async download({ slice, path, rest }, signal) {
      const headers = rest ? { range: `bytes=${rest.from}-`, 'if-range': rest.etag } : {};
      const response = await call(
        { slice, name: 'content', query: { path, raw: 'true' } },
        { headers, ...(signal && { signal }) },
      );
      if (!response.ok || response.body === null) throw errorOf(response, await response.text());
      const length = response.headers.get('content-length');
      return {
        isPart: response.status === 206,
        length: length === null ? null : Number(length),
        etag: response.headers.get('etag'),
        body: response.body,
      };
    },
  };
}
