import { buildImages } from './build.ts';
import { openCache, withCache } from './cache.ts';
import { loadImages } from './load.ts';

/** Makes the images of the shipped eggs and gives them to the engine at the socket. What it did not have before. */
export function provideImages(
  socketPath: string,
  names?: readonly string[],
  say?: (line: string) => void,
): Promise<string[]> {
  const cache = openCache();
  return withCache(cache, async () =>
    loadImages(cache, socketPath, await buildImages(cache, names, say)),
  );
}
