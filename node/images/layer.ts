import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  createReadStream,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Cache, digestOf } from './cache.ts';
import type { DebianPackage } from './packages.ts';
import { FILES, type Recipe, type RecipeNpm } from './recipes.ts';
import { run } from './run.ts';

/** Takes what is being done, and how much of the work is done before it, in percent. */
export type Progress = (step: string, percent: number) => void;

/** An uncompressed tar of files, the same for the same ingredients. */
export interface Layer {
  readonly path: string;
  /** SHA-256 of the tar: what images name it by. */
  readonly digest: string;
}

/** Layers that were made in another way are made anew. */
const WAY = readFileSync(import.meta.filename);

/** Folders that nobody reads in a container. */
const WITHOUT = ['doc', 'man', 'info', 'lintian', 'locale', 'applications', 'icons', 'bug'];

/** Made when the cache does not have it. */
export async function makeLayer(
  cache: Cache,
  recipe: Recipe,
  packages: readonly DebianPackage[],
  progress: Progress = () => {},
): Promise<Layer> {
  const ingredients = recipe.files.map(({ from }) => readFileSync(join(FILES, from)));
  const lock =
    recipe.npm === null ? '' : readFileSync(join(npmFolder(recipe.npm), 'package-lock.json'));
  const names = packages.map(({ file }) => file).join('\n');
  const key = digestOf(WAY, process.arch, JSON.stringify(recipe), names, lock, ...ingredients);
  const path = join(cache.layers, `${recipe.name}-${key.slice(0, 16)}.tar`);
  if (!existsSync(path)) await buildLayer(cache, { recipe, packages, path }, progress);
  return { path, digest: await fileDigest(path) };
}

interface LayerOrder {
  readonly recipe: Recipe;
  readonly packages: readonly DebianPackage[];
  readonly path: string;
}

async function buildLayer(
  cache: Cache,
  { recipe, packages, path }: LayerOrder,
  progress: Progress,
): Promise<void> {
  const work = mkdtempSync(join(cache.work, `${recipe.name}-`));
  try {
    const root = join(work, 'root');
    mergedUsr(root);
    progress('Unpacking its packages', 40);
    for (const { path: deb } of packages) await unpack(deb, root);
    if (recipe.name === 'base') furnish(root);
    for (const file of recipe.files) placeFile(root, file.from, file.to, file.executable);
    if (recipe.npm !== null) {
      progress('Installing its packages from npm', 50);
      await installNpm(recipe.npm, join(root, 'opt', recipe.name));
    }
    progress('Packing it', 75);
    const made = join(work, 'layer.tar');
    await packLayer(root, made);
    renameSync(made, path);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Links as Debian has it: `/bin` and its like lead into `/usr`. Before anything is unpacked. */
function mergedUsr(root: string): void {
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) {
    mkdirSync(join(root, 'usr', name), { recursive: true });
    symlinkSync(`usr/${name}`, join(root, name));
  }
}

async function unpack(deb: string, root: string): Promise<void> {
  const excluded = WITHOUT.map((name) => `--exclude=./usr/share/${name}`).join(' ');
  const script = `set -o pipefail; dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --keep-directory-symlink ${excluded}`;
  await run('bash', ['-c', script, 'unpack', deb, root]);
}

/**
 * Files that scripts of packages would have made: a shell for all, and the account that games run as, whatever number the
 * engine gives it (programs ask for its name and its home).
 */
function furnish(root: string): void {
  const home = join(root, 'home', 'container');
  mkdirSync(home, { recursive: true });
  mkdirSync(join(root, 'etc'), { recursive: true });
  writeFileSync(
    join(root, 'etc', 'passwd'),
    'root:x:0:0:root:/root:/bin/bash\ncontainer:x:1000:1000::/home/container:/bin/bash\n',
  );
  writeFileSync(join(root, 'etc', 'group'), 'root:x:0:\ncontainer:x:1000:\n');
  symlinkSync('bash', join(root, 'usr', 'bin', 'sh'));
  mkdirSync(join(root, 'tmp'), { recursive: true });
  chmodSync(join(root, 'tmp'), 0o1777);
}

function placeFile(root: string, from: string, to: string, executable: boolean): void {
  const target = join(root, to);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(join(FILES, from), target);
  chmodSync(target, executable ? 0o755 : 0o644);
}

function npmFolder(npm: RecipeNpm): string {
  return join(FILES, npm.folder);
}

/** Installs by the lock file alone; no script of a package runs. */
async function installNpm(npm: RecipeNpm, target: string): Promise<void> {
  mkdirSync(target, { recursive: true });
  for (const name of ['package.json', 'package-lock.json'])
    copyFileSync(join(npmFolder(npm), name), join(target, name));
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--omit=dev'];
  try {
    await run('npm', args, { cwd: target });
  } catch (error) {
    if (Object(error).code !== 'ENOENT') throw error;
    throw new Error('it needs npm on this host: sudo apt-get install -y npm', { cause: error });
  }
  for (const pattern of npm.without)
    for (const path of globSync(join('node_modules', pattern), { cwd: target }))
      rmSync(join(target, path), { recursive: true });
}

async function packLayer(root: string, path: string): Promise<void> {
  const alike = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];
  const archive = ['--format=gnu', '--file', path, '--directory', root];
  await run('tar', ['--create', ...archive, ...alike, '.']);
}

async function fileDigest(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1024 * 1024 }), hash);
  return hash.digest('hex');
}
