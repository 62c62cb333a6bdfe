import { open } from 'node:fs/promises';

export type TextFile =
  | { readonly ok: true; readonly text: string }
  /** `reason` is a sentence. */
  | { readonly ok: false; readonly missing: boolean; readonly reason: string };

export const MAX_FILE_BYTES = 4 * 1024 * 1024;

/** Reads a UTF-8 file of bounded size; `noun` names it in reasons. Never rejects. */
export async function readTextFile(path: string, noun: string): Promise<TextFile> {
  const fail = (reason: string, missing = false): TextFile => ({ ok: false, missing, reason });
  try {
    const bytes = await readBounded(path);
    if (bytes.length > MAX_FILE_BYTES) {
      return fail(`The ${noun} is larger than ${MAX_FILE_BYTES / 1024 / 1024} MiB.`);
    }
    return { ok: true, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') {
      return fail(`The ${noun} is not text in UTF-8.`);
    }
    return fail(`The ${noun} cannot be read (${code}).`, code === 'ENOENT' || code === 'ENOTDIR');
  }
}

/** Reads at most one byte more than the limit, also from endless devices. */
async function readBounded(path: string): Promise<Buffer> {
  const handle = await open(path, 'r');
  try {
    const buffer = Buffer.alloc(MAX_FILE_BYTES + 1);
    let length = 0;
    while (length < buffer.length) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return buffer.subarray(0, length);
  } finally {
    await handle.close();
  }
}
