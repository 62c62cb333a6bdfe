import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

/**
 * What an edge's code compiles to is kept beside the packages that it is made of, where nobody can write who could not
 * write the code itself. An edge that is started again, after a reboot say, need not strip types from two hundred
 * files and compile them: a quarter of a second before it enforces. Where nothing can be written there it does.
 */
const CACHE = join(import.meta.dirname, '..', 'node_modules', '.cache', 'portcullis-edge');

// What is covered cannot be told from code that comes out of a cache.
if (process.env['NODE_V8_COVERAGE'] === undefined) enableCompileCache(CACHE);
await import('./process.ts');
