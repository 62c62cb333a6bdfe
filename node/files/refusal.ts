import type { FileRefusalCode } from '@portcullis/link/messages/files.ts';
import { Refusal, refusedCode } from '../server-folder/folder.ts';

/** Why an operation on a file was not done; the message is a sentence for the caller. */
export class FileRefusal extends Error {
  override readonly name = 'FileRefusal';
  readonly code: FileRefusalCode;

  constructor(code: FileRefusalCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

const CODES: Readonly<Record<string, FileRefusalCode>> = {
  ENOENT: 'not_found',
  EEXIST: 'exists',
  ENOTEMPTY: 'exists',
  ENOSPC: 'quota',
  EDQUOT: 'quota',
};

/** Words a refusal of the folder for a path. Any other error is returned as it is. */
export function aboutPath(path: string, error: unknown): unknown {
  if (!(error instanceof Refusal)) return error;
  const code = CODES[refusedCode(error) ?? ''] ?? 'impossible';
  if (code === 'not_found') return notFound(path, error);
  return new FileRefusal(code, `${path === '' ? '/' : path}: ${error.message}.`, { cause: error });
}

export function notFound(path: string, cause?: unknown): FileRefusal {
  return new FileRefusal('not_found', `There is no ${path === '' ? '/' : path}.`, { cause });
}
