import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

/**
 * Keeps the compiled code of a program for its next start, if the folder can be written. It lies in node_modules: only an
 * account that can write the code can write the cache. What the program imports before is not kept.
 */
export function keepCompiled(program: string): void {
  // Coverage does not work with cached code.
  if (process.env['NODE_V8_COVERAGE'] !== undefined) return;
  enableCompileCache(join(import.meta.dirname, '..', 'node_modules', '.cache', program));
}
