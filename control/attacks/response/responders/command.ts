import { spawn } from 'node:child_process';
import { type CallResult, OUTPUT_BYTES } from './result.ts';

/** How long output is read after the program exits. */
const LAST_WORDS_MS = 200;

/**
 * Runs a program without a shell in its own process group, with only PATH in its environment. The whole group is killed
 * when it exits or times out. Rejects if it cannot be started or was killed.
 */
export function runCommand(
  [program = '', ...args]: readonly string[],
  input: string,
  signal: AbortSignal,
): Promise<CallResult> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const child = spawn(program, args, {
      cwd: '/',
      detached: true,
      env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const end = (): void => {
      killGroup(child.pid);
      // A child may keep the pipes open.
      child.stdout.destroy();
      child.stderr.destroy();
    };
    // First, because one that could not be started may have no pipes, and an error that nobody hears ends control.
    child.once('error', (error) => {
      signal.removeEventListener('abort', end);
      reject(error);
    });
    let output = '';
    const hear = (chunk: Buffer): void => {
      if (output.length < OUTPUT_BYTES) output += chunk.toString('utf8');
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    // A program need not read its input.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    signal.addEventListener('abort', end, { once: true });
    // On exit, not on close: a child may keep the pipes open.
    child.once('exit', (code, killedBy) => {
      signal.removeEventListener('abort', end);
      if (signal.aborted) {
        reject(new Error('it was ended'));
        return;
      }
      const finish = (): void => {
        clearTimeout(timer);
        end();
        resolve(resultOf(code, killedBy, output));
      };
      const timer = setTimeout(finish, LAST_WORDS_MS);
      child.once('close', finish);
    });
  });
}

function resultOf(code: number | null, killedBy: string | null, output: string): CallResult {
  const words = output.trim().slice(0, OUTPUT_BYTES);
  if (code === 0) return { succeeded: true, output: words };
  const how = code === null ? `was ended by ${killedBy}` : `exit code ${code}`;
  return { succeeded: false, output: `${how}: ${words}` };
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group is gone.
  }
}
