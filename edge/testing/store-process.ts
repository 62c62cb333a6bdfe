import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DesiredStore } from '../state/desired-store.ts';
import { stateOf } from './states.ts';

/**
 * Keeps one state after another in the folder that is named, and says the generation of each on standard output
 * once it is kept, until somebody kills it.
 */
const [, , stateDir = ''] = process.argv;
const log = { debug() {}, info() {}, warn() {}, error() {} };
const store = new DesiredStore({ folder: stateDir, log, smallestCompaction: 20_000 });
let generation = store.load(false)?.generation ?? 0;
for (;;) {
  generation += 1;
  await store.keep(stateOf(generation));
  if (store.problem !== null) throw new Error(store.problem);
  // Before there is anything, nobody waits for the first.
  if (existsSync(join(stateDir, 'policy.jsonl'))) process.stdout.write(`${generation}\n`);
  await new Promise(setImmediate);
}
