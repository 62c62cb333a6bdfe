import { readFileSync } from 'node:fs';
import { describePathFailure, usageError } from './exit.ts';

/** The text of a file of the command line. Throws a usage error if it cannot be read. */
export function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw usageError(`${file} cannot be read: ${describePathFailure(error) ?? 'it is no file'}`);
  }
}
