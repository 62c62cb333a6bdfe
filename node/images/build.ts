import { basename, join } from 'node:path';
import type { Image } from './archive.ts';
import { type Cache, keepOnly } from './cache.ts';
import { makeLayer, type Progress } from './layer.ts';
import { type DebianPackage, fetchPackages } from './packages.ts';
import { BASE, RECIPES, type Recipe, referenceOf } from './recipes.ts';

export interface BuildOptions {
  /** Default: all. */
  readonly names?: readonly string[] | undefined;
  readonly say?: ((line: string) => void) | undefined;
  /** Makes sense for one image alone. */
  readonly progress?: Progress | undefined;
}

/** The whole set, or a part of it by name; what the cache has is not made again. */
export async function buildImages(
  cache: Cache,
  { names = RECIPES.map(({ name }) => name), say = () => {}, progress = () => {} }: BuildOptions,
): Promise<Image[]> {
  const unknown = names.find((name) => !RECIPES.some((recipe) => recipe.name === name));
  if (unknown !== undefined) throw new Error(describeUnknown(unknown));
  const recipes = RECIPES.filter(({ name }) => names.includes(name));
  progress('Downloading its packages from Debian', 5);
  const [below = [], ...closures] = await fetchPackages(
    cache,
    [BASE, ...recipes].map(({ packages }) => [...new Set([...BASE.packages, ...packages])]),
  );
  const shared = new Set(below.map(({ file }) => file));
  progress('Unpacking the base', 35);
  const bottom = await makeLayer(cache, BASE, below);
  const make = async (recipe: Recipe, packages: readonly DebianPackage[]): Promise<Image> => {
    const begin = performance.now();
    const own = packages.filter(({ file }) => !shared.has(file));
    const layer = await makeLayer(cache, recipe, own, progress);
    say(`${referenceOf(recipe)}: ${((performance.now() - begin) / 1000).toFixed(1)} s`);
    return { reference: referenceOf(recipe), layers: [bottom, layer] };
  };
  // Half of the work is the disk's and the registry's.
  const images = await Promise.all(
    recipes.map((recipe, index) => make(recipe, closures[index] ?? [])),
  );
  if (images.length === RECIPES.length) sweep(cache, [...below, ...closures.flat()], images);
  return images;
}

function describeUnknown(name: string): string {
  const known = RECIPES.map((recipe) => recipe.name).join(', ');
  return name === 'hearth'
    ? `hearth has no image: it comes with Portcullis and runs without Docker, unless the node was started with --engine docker. There are ${known}`
    : `there is no image "${name}": ${known}`;
}

/** Removes what none of the present set's images needs. Only after the whole set: a part does not know the others. */
function sweep(cache: Cache, packages: readonly DebianPackage[], images: readonly Image[]): void {
  keepOnly(
    join(cache.apt, 'cache', 'archives'),
    new Set(['lock', 'partial', ...packages.map(({ file }) => file)]),
  );
  const layers = images.flatMap((image) => image.layers.map(({ path }) => basename(path)));
  keepOnly(cache.layers, new Set(layers));
}
