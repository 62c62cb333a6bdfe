import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

/**
 * The compile cache saves a quarter of a second before a restarted edge enforces. It lies in node_modules: only an
 * account that can write the code can write the cache. If the folder is read-only, the edge starts without it.
 */
const CACHE = join(import.meta.dirname, '..', 'node_modules', '.cache', 'portcullis-edge');

// Coverage does not work with cached code.
if (process.env['NODE_V8_COVERAGE'] === undefined) enableCompileCache(CACHE);
await import('./process.ts');
