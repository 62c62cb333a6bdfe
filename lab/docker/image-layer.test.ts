import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { require } from '../requirements.ts';
import { type Cache, openCache, withCache } from '@portcullis/node/images/cache.ts';
import { type Layer, makeLayer } from '@portcullis/node/images/layer.ts';
import { fetchPackages } from '@portcullis/node/images/packages.ts';
import { RECIPES } from '@portcullis/node/images/recipes.ts';

describe('a layer of an image', () => {
  it('is the same, to the byte, whenever it is made of the same, and gives nobody rights', async (t) => {
    if (!require(t, ['apt'])) return;
    const first = await madeAnew(t);
    const second = await madeAnew(t);
    assert.equal(first.digest, second.digest);
    const listed = spawnSync('tar', ['--list', '--verbose', '--file', first.path], {
      encoding: 'utf8',
    }).stdout.split('\n');
    assert.ok(listed.some((line) => line.endsWith(' ./usr/games/teeworlds-server')));
    const others = listed.filter((line) => line !== '' && !line.includes(' root/root '));
    assert.deepEqual(
      others.filter((line) => !line.includes(' 0/0 ')),
      [],
    );
    assert.deepEqual(
      listed.filter((line) => /^\S{3}[sS]|^\S{6}[sS]/.test(line)),
      [],
    );
  });
});

/** Layers of packages that the user's cache keeps; the layer itself is made. */
function madeAnew(t: TestContext): Promise<Layer> {
  const kept = openCache();
  return withCache(kept, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-layer-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const cache: Cache = { ...kept, layers: join(folder, 'layers'), work: join(folder, 'work') };
    mkdirSync(cache.layers);
    mkdirSync(cache.work);
    const recipe = RECIPES.find(({ name }) => name === 'teeworlds');
    assert.ok(recipe !== undefined);
    const [packages = []] = await fetchPackages(cache, [recipe.packages]);
    return makeLayer(cache, recipe, packages);
  });
}
