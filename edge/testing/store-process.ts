import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DesiredStore } from '../state/desired-store.ts';
import { stateOf } from './states.ts';

/**
 * Saves one state after another in the given folder, and prints the generation of each saved one, until it is killed.
 */
const [, , stateDir = ''] = process.argv;
const log = { debug() {}, info() {}, warn() {}, error() {} };
const store = new DesiredStore({ folder: stateDir, log, smallestCompaction: 20_000 });
let generation = store.load(false)?.generation ?? 0;
for (;;) {
  generation += 1;
  await store.keep(stateOf(generation));
  if (store.problem !== null) throw new Error(store.problem);
  // The first save happens in the background.
  if (existsSync(join(stateDir, 'policy.jsonl'))) process.stdout.write(`${generation}\n`);
  await new Promise(setImmediate);
}
