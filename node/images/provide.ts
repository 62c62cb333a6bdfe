import type { Image } from './archive.ts';
import { type BuildOptions, buildImages } from './build.ts';
import { openCache, withCache } from './cache.ts';
import { findEngine, loadImages } from './load.ts';

/** Makes the images of the shipped eggs, for a later `provideImages`. */
export function makeImages(options: BuildOptions = {}): Promise<Image[]> {
  const cache = openCache();
  return withCache(cache, () => buildImages(cache, options));
}

/** Makes the images of the shipped eggs and gives them to the engine at the socket. What it did not have before. */
export async function provideImages(
  socketPath: string,
  options: BuildOptions = {},
): Promise<string[]> {
  // Before minutes of work for nobody.
  await findEngine(socketPath);
  const cache = openCache();
  options.progress?.('Waiting for another one that is being made', 0);
  return withCache(cache, async () => {
    const images = await buildImages(cache, options);
    options.progress?.('Giving it to Docker', 90);
    return loadImages(cache, socketPath, images);
  });
}
