import { once } from 'node:events';
import { run } from 'node:test';
import { inspect } from 'node:util';
import type { Group } from './groups.ts';
import type { Outcome } from './report.ts';

/**
 * Runs one group in this process, a child of main.ts, and sends it an `Outcome` for each test that ended.
 * Argument: the group as JSON.
 */
const group = JSON.parse(process.argv[2] ?? '') as Group;

interface Ended {
  readonly name: string;
  readonly nesting: number;
  readonly file?: string | undefined;
  readonly skip?: string | boolean | undefined;
  readonly details: {
    readonly duration_ms: number;
    readonly type?: string | undefined;
    readonly error?: { readonly cause?: unknown; readonly failureType?: string };
  };
}

const stream = run({
  files: [...group.files],
  isolation: group.isolation,
  timeout: group.timeoutMs,
  ...(group.isolation === 'process' ? { concurrency: group.concurrency } : {}),
});

/** Names of the suites around the test that is reported, by nesting: reports come in order. */
const around: string[] = [];
stream.on('test:start', ({ name, nesting }) => {
  around.length = nesting;
  around.push(name);
});
stream.on('test:pass', (ended) => {
  if (ended.details.type === 'suite' && ended.skip === undefined) return;
  send(ended, ended.skip === undefined ? 'passed' : 'skipped', String(ended.skip ?? ''));
});
stream.on('test:fail', (ended) => {
  const { failureType, cause } = ended.details.error as { failureType?: string; cause?: unknown };
  // A suite fails with its tests, which have been counted.
  if (failureType === 'subtestsFailed') return;
  send(ended, 'failed', inspect(cause ?? ended.details.error, { depth: 6 }));
});
stream.on('test:stderr', ({ message }) => process.stderr.write(message));
stream.on('test:stdout', ({ message }) => process.stdout.write(message));
stream.resume();
await once(stream, 'end');
process.disconnect();

function send(ended: Ended, result: Outcome['result'], detail: string): void {
  const outcome: Outcome = {
    file: ended.file ?? '',
    name: [...around.slice(0, ended.nesting), ended.name].join(' > '),
    result,
    detail,
    durationMs: ended.details.duration_ms,
  };
  process.send?.(outcome);
}
