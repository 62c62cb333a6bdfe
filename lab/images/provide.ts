import type { Image } from './archive.ts';
import { buildImages } from './build.ts';
import { openCache, withCache } from './cache.ts';
import { findEngine, loadImages } from './load.ts';

type Say = (line: string) => void;

/** Makes the images of the shipped eggs, for a later `provideImages`. */
export function makeImages(names?: readonly string[], say?: Say): Promise<Image[]> {
  const cache = openCache();
  return withCache(cache, () => buildImages(cache, names, say));
}

/** Makes the images of the shipped eggs and gives them to the engine at the socket. What it did not have before. */
export async function provideImages(
  socketPath: string,
  names?: readonly string[],
  say?: Say,
): Promise<string[]> {
  // Before minutes of work for nobody.
  await findEngine(socketPath);
  const cache = openCache();
  return withCache(cache, async () =>
    loadImages(cache, socketPath, await buildImages(cache, names, say)),
  );
}
