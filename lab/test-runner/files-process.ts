import assert from 'node:assert/strict';
import { writeSync } from 'node:fs';
import { resolve } from 'node:path';
import { after, describe } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Runs test files one after the other in this process, each as a suite with the path of the file as its name, so that
 * hooks at the top of a file are the file's own. Arguments: the paths.
 * A file fails that leaves something open or changes what the files after it would see.
 */
const files = process.argv.slice(2);
/** A closed socket or child process needs a moment to go. */
const CLOSING_MS = 10_000;
let running = '';
process.on('exit', () => {
  if (running !== '') writeSync(2, `the process ended in ${running}\n`);
});

for (const file of files) {
  running = file;
  const ended = Promise.withResolvers<void>();
  describe(file, async () => {
    const before = readProcessState();
    try {
      await import(resolve(file));
    } finally {
      // Registered last, so that it runs after the hooks of the file.
      after(async () => {
        try {
          await checkLeftOpen(before.open);
          assert.deepEqual({ ...readProcessState(), open: null }, { ...before, open: null });
        } finally {
          ended.resolve();
        }
      });
    }
  });
  await ended.promise;
}
running = '';
// What a file left open must not hold the process: the file has failed by now.
setTimeout(() => process.exit(1), CLOSING_MS).unref();

interface ProcessState {
  /** Kinds of what keeps this process running. */
  readonly open: readonly string[];
  readonly folder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

function readProcessState(): ProcessState {
  // Opened when they are first asked for, which is no fault of the file that does.
  void [process.stdin, process.stdout, process.stderr];
  return {
    open: process.getActiveResourcesInfo(),
    folder: process.cwd(),
    environment: { ...process.env },
  };
}

async function checkLeftOpen(before: readonly string[]): Promise<void> {
  const deadline = performance.now() + CLOSING_MS;
  let left = addedTo(before, process.getActiveResourcesInfo());
  while (left.length > 0 && performance.now() < deadline) {
    await delay(20);
    left = addedTo(before, process.getActiveResourcesInfo());
  }
  assert.deepEqual(left, [], 'the file left something open');
}

function addedTo(before: readonly string[], now: readonly string[]): string[] {
  const rest = [...before, 'Timeout'];
  return now.filter((kind) => {
    const at = rest.indexOf(kind);
    if (at >= 0) rest.splice(at, 1);
    return at < 0;
  });
}
