import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  copyName,
  crumbsOf,
  folderOf,
  isWithin,
  nameOf,
  nameRefusal,
  stemLength,
} from './paths.ts';

it('takes a path apart, and the folder of the server is empty', () => {
  assert.deepEqual(crumbsOf('plugins/maps'), [
    { name: 'plugins', path: 'plugins' },
    { name: 'maps', path: 'plugins/maps' },
  ]);
  assert.deepEqual(crumbsOf(''), []);
  assert.equal(folderOf('plugins/map.jar'), 'plugins');
  assert.equal(folderOf('map.jar'), '');
  assert.equal(nameOf('plugins/map.jar'), 'map.jar');
});

it('does not take a folder of a longer name for the folder', () => {
  assert.ok(isWithin('world', 'world/region'));
  assert.ok(isWithin('', 'anything'));
  assert.ok(!isWithin('world', 'world_nether'));
});

it('names a copy that is not there yet, with its ending', () => {
  assert.equal(copyName('map.jar', new Set()), 'map copy.jar');
  assert.equal(copyName('map.jar', new Set(['map copy.jar'])), 'map copy 2.jar');
  assert.equal(copyName('world.tar.gz', new Set()), 'world copy.tar.gz');
  assert.equal(copyName('.env', new Set()), '.env copy');
  assert.equal(stemLength('server.properties'), 6);
});

it('says why a name cannot be given', () => {
  assert.equal(nameRefusal('maps/new world'), null);
  for (const name of ['', '..', 'a//b', 'a/', '\u{e000}'.repeat(300)]) {
    assert.notEqual(nameRefusal(name), null, name);
  }
});
