import { chmodSync, copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import manifest from './package.json' with { type: 'json' };

/**
 * Makes dist/, the package of the command alone: one file without dependencies, for Node 24. `npm pack ./caller/dist`
 * packs it, and `npm install --global` of that installs `portcullis`.
 */
const here = import.meta.dirname;
const dist = join(here, 'dist');
const PROGRAM = 'portcullis.js';
/** The compile cache is in a folder of the user: who can write to it can run code as that user. */
const BANNER = `#!/usr/bin/env node
if (Number(process.versions.node.split('.')[0]) < 24) {
  console.error('portcullis: needs Node.js 24 or later, and this is ' + process.versions.node);
  process.exitCode = 69;
} else {
  const [{ enableCompileCache }, { homedir }, { join }] = await Promise.all(
    ['node:module', 'node:os', 'node:path'].map((name) => import(name)),
  );
  enableCompileCache(join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'portcullis'));
  await import('./program.js');
}
`;

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
const bundle = await rolldown({ input: join(here, 'main.ts'), platform: 'node', logLevel: 'warn' });
const names = { entryFileNames: 'program.js', chunkFileNames: '[name].js' };
await bundle.write({ dir: dist, format: 'esm', minify: true, ...names });
await bundle.close();
writeFileSync(join(dist, PROGRAM), BANNER);
chmodSync(join(dist, PROGRAM), 0o755);
copyFileSync(join(here, 'README.md'), join(dist, 'README.md'));
copyFileSync(join(here, 'file', 'rules-file.schema.json'), join(dist, 'rules-file.schema.json'));
const { name, version, description, license, type } = manifest;
const published = {
  name,
  version,
  description,
  license,
  type,
  engines: { node: '>=24' },
  bin: { portcullis: PROGRAM },
};
writeFileSync(join(dist, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
