import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';

/**
 * A game that races the agent: in `folder` it exchanges `conf` (a directory with `a.cfg`) for a link to `outside` and
 * back, and `conf/a.cfg` for a link to a file there, as fast as it can, until it is instructed to stop. Answers how many
 * rounds it made.
 */
const { folder, outside } = workerData as { readonly folder: string; readonly outside: string };
const conf = join(folder, 'conf');
const aside = join(folder, 'aside');
const link = join(folder, 'link');
let stopped = false;
let rounds = 0;
parentPort?.once('message', () => (stopped = true));
turn();

function turn(): void {
  for (let count = 0; count < 20; count += 1) round();
  if (!stopped) setImmediate(turn);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  else parentPort?.postMessage(rounds);
}

/** Every step may fail: the agent makes directories and files in between. */
function round(): void {
  rounds += 1;
  attempt(() => symlinkSync(outside, link));
  attempt(() => renameSync(conf, aside));
  attempt(() => renameSync(link, conf));
  attempt(() => rmSync(conf));
  attempt(() => renameSync(aside, conf));
  attempt(() => mkdirSync(conf));
  attempt(() => symlinkSync(join(outside, 'secret.cfg'), join(conf, 'link')));
  attempt(() => renameSync(join(conf, 'link'), join(conf, 'a.cfg')));
  attempt(() => rmSync(join(conf, 'a.cfg')));
  attempt(() => writeFileSync(join(conf, 'a.cfg'), 'key=1\n'));
}

function attempt(step: () => void): void {
  try {
    step();
  } catch {
    // The next one may do.
  }
}
