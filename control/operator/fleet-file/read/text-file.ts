import { createReadStream } from 'node:fs';

export type TextFile =
  | { readonly ok: true; readonly text: string }
  /** `reason` is a sentence. */
  | { readonly ok: false; readonly missing: boolean; readonly reason: string };

const MIB = 1024 * 1024;
export const MAX_FLEET_BYTES = 64 * MIB;
export const MAX_EGG_BYTES = 4 * MIB;

/** Reads a UTF-8 file of bounded size; `noun` names it in reasons. Never rejects. */
export async function readTextFile(
  path: string,
  noun: string,
  maxBytes: number,
): Promise<TextFile> {
  const fail = (reason: string, missing = false): TextFile => ({ ok: false, missing, reason });
  try {
    const bytes = await readBounded(path, maxBytes);
    if (bytes.length > maxBytes) return fail(`The ${noun} is larger than ${maxBytes / MIB} MiB.`);
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
async function readBounded(path: string, maxBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of createReadStream(path, { end: maxBytes })) {
    parts.push(part);
    length += part.length;
  }
  return Buffer.concat(parts, length);
}
