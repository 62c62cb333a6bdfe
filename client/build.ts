import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** `npm pack --ignore-scripts=false` runs this: compiles the client as an ES module and as CommonJS, each with its types, into dist/. */
const here = import.meta.dirname;
const dist = join(here, 'dist');
const typescript = dirname(createRequire(import.meta.url).resolve('typescript/package.json'));
const FORMATS = [
  { folder: 'esm', type: 'module', args: ['--module', 'nodenext'] },
  {
    folder: 'cjs',
    type: 'commonjs',
    args: ['--module', 'commonjs', '--moduleResolution', 'bundler'],
  },
] as const;

rmSync(dist, { recursive: true, force: true });
for (const { folder, type, args } of FORMATS) {
  const outDir = join(dist, folder);
  const compile = [
    join(typescript, 'bin', 'tsc'),
    '-p',
    join(here, 'tsconfig.build.json'),
    '--outDir',
    outDir,
    ...args,
  ];
  execFileSync(process.execPath, compile, { stdio: 'inherit' });
  mkdirSync(outDir, { recursive: true });
  writeFileSync(join(outDir, 'package.json'), `${JSON.stringify({ type })}\n`);
}
