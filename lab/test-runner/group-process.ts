import { once } from 'node:events';
import { resolve } from 'node:path';
import { run } from 'node:test';
import { inspect } from 'node:util';
import type { Group } from './groups.ts';
import type { Outcome, Timing } from './report.ts';

/**
 * Runs one group in this process, a child of main.ts, and sends it an `Outcome` for each test that ended and a `Timing` for each
 * file that had a process of its own.
 * Argument: the group as JSON.
 */
const group = JSON.parse(process.argv[2] ?? '') as Group;

interface Ended {
  readonly name: string;
  readonly nesting: number;
  readonly file?: string | undefined;
  readonly skip?: string | boolean | undefined;
  readonly details: {
    readonly type?: string | undefined;
    readonly error?: { readonly cause?: unknown; readonly failureType?: string };
  };
}

/** Files of processes run one a call, so that each has a limit of its own; the others share one call. */
const waiting = group.isolation === 'process' ? group.files.map((file) => [file]) : [group.files];
await Promise.all(Array.from({ length: group.concurrency }, runNext));
process.disconnect();

async function runNext(): Promise<void> {
  for (let files = waiting.shift(); files !== undefined; files = waiting.shift()) {
    await runFiles(files);
  }
}

async function runFiles(files: readonly string[]): Promise<void> {
  const begin = performance.now();
  const limit = new AbortController();
  const late = setTimeout(() => {
    const detail = `still running after ${group.fileLimitMs / 1000} s: a test hangs, or something was left open`;
    const name = files.join(', ');
    tell({ file: resolve(files[0] ?? ''), name, result: 'failed', detail });
    limit.abort();
  }, group.fileLimitMs);
  // Files in this very process end when nothing is left to do: the limit must not be something to do.
  late.unref();
  const stream = run({
    files: [...files],
    isolation: group.isolation,
    timeout: group.timeoutMs,
    signal: limit.signal,
  });
  report(stream, limit.signal);
  await once(stream, 'end');
  clearTimeout(late);
  const [file] = files;
  if (files.length > 1 || file === undefined) return;
  tell({ file, ms: performance.now() - begin });
}

function report(stream: ReturnType<typeof run>, aborted: AbortSignal): void {
  /** Names of the suites around the test that is reported, by nesting: reports come in order. */
  const around: string[] = [];
  stream.on('test:start', ({ name, nesting }) => {
    around.length = nesting;
    around.push(name);
  });
  stream.on('test:pass', (ended) => {
    if (ended.details.type === 'suite' && ended.skip === undefined) return;
    send(around, ended, ended.skip === undefined ? 'passed' : 'skipped', String(ended.skip ?? ''));
  });
  stream.on('test:fail', (ended) => {
    const { failureType, cause } = ended.details.error as { failureType?: string; cause?: unknown };
    // A suite fails with its tests, which have been counted; a file that was stopped has been named.
    if (failureType === 'subtestsFailed' || aborted.aborted) return;
    send(around, ended, 'failed', inspect(cause ?? ended.details.error, { depth: 6 }));
  });
  stream.on('test:stderr', ({ message }) => process.stderr.write(message));
  stream.on('test:stdout', ({ message }) => process.stdout.write(message));
  stream.resume();
}

function send(
  around: readonly string[],
  ended: Ended,
  result: Outcome['result'],
  detail: string,
): void {
  const outcome: Outcome = {
    file: ended.file ?? '',
    name: [...around.slice(0, ended.nesting), ended.name].join(' > '),
    result,
    detail,
  };
  tell(outcome);
}

/** Whoever asked may be gone, and nobody wants to know any more. */
function tell(message: Outcome | Timing): void {
  process.send?.(message, undefined, undefined, (error) => {
    if (error !== null) process.exit(1);
  });
}
