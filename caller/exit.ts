/** Exit codes of every command, shown by `--help`. */
export const EXIT = {
  ok: 0,
  /** The operation failed or was denied. */
  failed: 1,
  /** The command line is wrong; nothing was done. */
  usage: 2,
  /** The code of a plan with `--detailed-exitcode`: there is something to change. */
  changes: 3,
  /** Not signed in, or the key may not do this. */
  notAllowed: 4,
  /** The control plane, the database or a kernel feature is not available now. EX_UNAVAILABLE of sysexits.h. */
  unavailable: 69,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** An error that is printed as one sentence that says what to do, without a stack trace. */
export class CliError extends Error {
  readonly exitCode: ExitCode;
  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CliError';
    this.exitCode = exitCode;
  }
}

/** Ends the command with this code and prints nothing: the code is the answer. */
export class QuietExit extends Error {
  readonly exitCode: ExitCode;
  constructor(exitCode: ExitCode) {
    super(`exit code ${exitCode}`);
    this.exitCode = exitCode;
  }
}

export function usageError(message: string): CliError {
  return new CliError(EXIT.usage, message);
}

export function unavailable(message: string, cause?: unknown): CliError {
  return new CliError(EXIT.unavailable, message, { cause });
}

export function failed(message: string, cause?: unknown): CliError {
  return new CliError(EXIT.failed, message, { cause });
}

/** The errors of system calls on a path, in words. */
const PATH_FAILURES: Readonly<Record<string, string>> = {
  ENOTDIR: 'a part of it is a file, not a directory',
  ENOENT: 'it does not exist',
  EISDIR: 'it is a directory',
  EACCES: 'no permission: run this as root, or choose another',
  EPERM: 'no permission: run this as root, or choose another',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
};

/** Why a system call on a path failed, in words; null for any other error. */
export function describePathFailure(error: unknown): string | null {
  if (!(error instanceof Error) || !('path' in error) || !('code' in error)) return null;
  return PATH_FAILURES[String(error.code)] ?? null;
}
