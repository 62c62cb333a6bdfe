import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { EngineError } from '../engine.ts';
import type { Home } from './home.ts';

const WRITE_MS = 5_000;
const AGAIN_MS = 20;

/** Writes to the standard input of a running process; see `Console.write`. */
export async function writeInput(home: Home, bytes: Buffer): Promise<void> {
  let descriptor: number;
  try {
    descriptor = openSync(home.path('in'), constants.O_WRONLY | constants.O_NONBLOCK);
  } catch (error) {
    // Nobody reads it: the kernel says ENXIO.
    throw new EngineError('refused', 'The server takes no commands now.', { cause: error });
  }
  const until = performance.now() + WRITE_MS;
  try {
    for (let written = 0; written < bytes.length; ) {
      try {
        written += writeSync(descriptor, bytes, written);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN')
          throw new EngineError('refused', 'The server ended before it took the command.');
        if (performance.now() > until)
          throw new EngineError('timeout', 'The server does not read its console.');
        // The pipe is full, and the kernel tells nobody when it is not.
        await delay(AGAIN_MS);
      }
    }
  } finally {
    closeSync(descriptor);
  }
}
