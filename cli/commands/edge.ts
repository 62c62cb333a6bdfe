import { decideConfig } from '@portcullis/control/config/config.ts';
import { readEnvironment } from '@portcullis/control/config/env.ts';
import { usageError } from '../exit.ts';
import type { EdgeOptions } from '../program/edge.ts';

/** The data directory that a command on this host means: the one of `up` and of `control`. */
export function dataDirectory(options: { readonly data?: string }): string {
  const environment = readEnvironment();
  const data = options.data ?? environment.data;
  const decided = decideConfig({ ...environment, data }, { isRoot: process.getuid?.() === 0 });
  if (!decided.ok) throw usageError(decided.reason);
  return decided.value.dataDir;
}
