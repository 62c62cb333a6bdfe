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

/** Codes of a write that found no space: of the file system, of a quota of it, and of the size of one file. */
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** Whether an error is that of a write to a full disk. */
export function isDiskFull(error: unknown): boolean {
  return FULL.has((error as NodeJS.ErrnoException | null)?.code ?? '');
}

export function diskFull(error: unknown): FileRefusal {
  return new FileRefusal('quota', 'The disk is full.', { cause: error });
}

/** Words a refusal of the folder for a path, and a full disk. Any other error is returned as it is. */
export function aboutPath(path: string, error: unknown): unknown {
  if (isDiskFull(error)) return diskFull(error);
  if (!(error instanceof Refusal)) return error;
  const code = CODES[refusedCode(error) ?? ''] ?? 'impossible';
  if (code === 'not_found') return notFound(path, error);
  return new FileRefusal(code, `${path === '' ? '/' : path}: ${error.message}.`, { cause: error });
}

export function notFound(path: string, cause?: unknown): FileRefusal {
  return new FileRefusal('not_found', `There is no ${path === '' ? '/' : path}.`, { cause });
}

export function unknownOperation(): FileRefusal {
  return new FileRefusal('impossible', 'This node does not know that operation.');
}
