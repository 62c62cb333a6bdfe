/** Exit codes of every command, shown by `--help`. */
export const EXIT = {
  ok: 0,
  /** It was tried, and failed or was denied. */
  failed: 1,
  /** The command line is wrong; nothing was tried. */
  usage: 2,
  /** What it needs is not there now: no control plane, no database, no kernel feature. EX_UNAVAILABLE. */
  unavailable: 69,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** What a person reads instead of a stack trace: one sentence that says what to do. */
export class CliError extends Error {
  readonly exitCode: ExitCode;
  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CliError';
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
