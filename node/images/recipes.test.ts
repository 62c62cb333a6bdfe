import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, it } from 'node:test';
import type { ImportedEgg } from '@portcullis/core/game-servers/eggs/parse-egg.ts';
import { parseEgg } from '@portcullis/core/game-servers/eggs/parse-egg.ts';
import { reviewEgg } from '@portcullis/core/game-servers/egg-library/review.ts';
import { checkVariables } from '@portcullis/core/game-servers/eggs/variables.ts';
import { compilePattern } from '@portcullis/core/game-servers/eggs/re2.ts';
import { BASE, FILES, RECIPES, referenceOf } from './recipes.ts';

const EGGS = join(import.meta.dirname, '..', '..', 'eggs');
const shipped = globSync('*.json', { cwd: EGGS }).map((file) => ({
  name: basename(file, '.json'),
  imported: read(join(EGGS, file)),
}));

describe('the shipped eggs', () => {
  it('are those of the issue', () => {
    const names = shipped.map(({ name }) => name).toSorted();
    assert.deepEqual(names, [
      'bzflag',
      'flying-squid',
      'freeciv',
      'hearth',
      'luanti',
      'openttd',
      'teeworlds',
    ]);
  });

  it('are read without a note, and leave nothing to look at', () => {
    for (const { name, imported } of shipped) {
      assert.deepEqual(imported.notes, [], name);
      assert.deepEqual(reviewEgg(imported.egg, compilePattern), [], name);
    }
  });

  it('let no value out of its place in a settings file: a quote would begin another setting', () => {
    const { variables, configFiles } = shippedEgg('teeworlds');
    const file = configFiles.find(({ path }) => path === 'server.cfg');
    const quoted = file?.replacements.find(({ match }) => match === 'sv_name ');
    assert.equal(quoted?.value, 'sv_name "{{server.build.env.SERVER_NAME}}"');
    const problems = (given: Readonly<Record<string, string>>): string[] =>
      checkVariables(variables, given, compilePattern).map(({ env }) => env);
    for (const name of ["Ada's arena", 'a; b', '# x', '日本'])
      assert.deepEqual(problems({ SERVER_NAME: name }), [], name);
    for (const name of [
      'x"; sv_rcon_password "y',
      'ends with \\',
      'two\nlines',
      'x'.repeat(61),
      '',
    ])
      assert.deepEqual(problems({ SERVER_NAME: name }), ['SERVER_NAME'], name);
    for (const map of ['dm1;sv_rcon_password', '../dm1', 'dm 1', '"'])
      assert.deepEqual(problems({ MAP: map }), ['MAP'], map);
    const given = { GAME_TYPE: 'dm\n', MAX_PLAYERS: '65', REGISTER: 'yes' };
    assert.deepEqual(problems(given).toSorted(), ['GAME_TYPE', 'MAX_PLAYERS', 'REGISTER']);
  });

  it('each have one local image, which a recipe makes, and ask for no capability', () => {
    const references = new Map([
      ...RECIPES.map((recipe) => [recipe.name, referenceOf(recipe)] as const),
      // Comes with the node, for its process engine.
      ['hearth', 'portcullis/hearth'] as const,
    ]);
    for (const { name, imported } of shipped) {
      const { images, install, capabilities } = imported.egg;
      const reference = references.get(name);
      assert.deepEqual(
        images.map((image) => [image.reference, image.local]),
        [[reference, true]],
        name,
      );
      if (install !== null) assert.equal(install.image.reference, reference);
      assert.deepEqual(capabilities, [], name);
    }
  });
});

describe('the recipes of images', () => {
  it('name files that are there, and programs that can be run', () => {
    for (const recipe of [BASE, ...RECIPES])
      for (const { from, executable } of recipe.files)
        assert.equal((statSync(join(FILES, from)).mode & 0o111) !== 0, executable, from);
  });

  it('pin every package of npm by its content', () => {
    for (const { npm } of RECIPES) {
      if (npm === null) continue;
      const lock = join(FILES, npm.folder, 'package-lock.json');
      assert.ok(existsSync(lock), npm.folder);
      const { packages } = JSON.parse(readFileSync(lock, 'utf8')) as {
        readonly packages: Readonly<Record<string, { readonly integrity?: string }>>;
      };
      const unpinned = Object.entries(packages).filter(
        ([path, { integrity }]) => path !== '' && integrity === undefined,
      );
      assert.deepEqual(unpinned, []);
    }
  });
});

function shippedEgg(wanted: string): ImportedEgg['egg'] {
  const found = shipped.find(({ name }) => name === wanted);
  assert.ok(found !== undefined);
  return found.imported.egg;
}

function read(path: string): ImportedEgg {
  const parsed = parseEgg(readFileSync(path, 'utf8'));
  assert.ok(parsed.ok, parsed.ok ? '' : `${path}: ${parsed.reason}`);
  return parsed.value;
}
