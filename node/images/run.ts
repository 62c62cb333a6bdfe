import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** The time limit of one program: a slow mirror is waited for, a hung one is not. */
const LIMIT_MS = 300_000;
const OUTPUT_BYTES = 16 * 1024 * 1024;

/** The text that the program says on standard output; rejects with what it says on standard error. */
export async function run(
  program: string,
  args: readonly string[],
  options: { readonly cwd?: string } = {},
): Promise<string> {
  const { stdout } = await execute(program, args, {
    ...options,
    // Not a person's: no questions, and messages as they are written here.
    env: { ...process.env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' },
    timeout: LIMIT_MS,
    maxBuffer: OUTPUT_BYTES,
  });
  return stdout;
}
