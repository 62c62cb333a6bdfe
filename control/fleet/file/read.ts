import { open } from 'node:fs/promises';
import { type FleetFileResult, parseFleet } from './parse.ts';
import { type Environment, LARGEST_FILE_BYTES } from './yaml-source.ts';

/** Reads a fleet file: what it wants, or everything that is wrong with it. Changes nothing. */
export async function readFleetFile(path: string, env: Environment): Promise<FleetFileResult> {
  const refuse = (message: string): FleetFileResult => ({
    ok: false,
    mistakes: [{ file: path, line: 1, column: 1, message }],
  });
  let bytes: Buffer;
  try {
    bytes = await readBounded(path);
  } catch (error) {
    return refuse(`The file cannot be read (${codeOf(error)}).`);
  }
  if (bytes.length > LARGEST_FILE_BYTES) {
    return refuse(`The file is larger than ${LARGEST_FILE_BYTES / 1024 / 1024} MiB.`);
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return refuse('The file is not text in UTF-8.');
  }
  return parseFleet(text, path, env);
}

/** Never more than the largest file and a byte, whatever the path turns out to be. */
async function readBounded(path: string): Promise<Buffer> {
  const handle = await open(path, 'r');
  try {
    const buffer = Buffer.alloc(LARGEST_FILE_BYTES + 1);
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

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : 'unknown';
}
