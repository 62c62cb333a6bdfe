import { accessSync, constants, mkdirSync } from 'node:fs';
import { StateError } from '../switch/switch-files.ts';

/**
 * Errors that no waiting mends: a permission, or a path through a file. A full or failing disk is reported while the
 * edge enforces.
 */
const DENIALS = ['EACCES', 'EPERM', 'ENOTDIR', 'EEXIST'];

/**
 * Throws `StateError` if this process may not read or write the state directory: it would enforce nothing or could not be
 * disabled, so it must not count as an edge.
 */
export function requireStateAccess(stateDir: string): void {
  try {
    mkdirSync(stateDir, { recursive: true, mode: 0o700 });
    accessSync(stateDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (DENIALS.includes(code)) throw new StateError(stateDir, code, error as Error);
  }
}
