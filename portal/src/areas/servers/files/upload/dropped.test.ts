import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type DroppedEntry, readEntries, topNames, without } from './dropped.ts';

const file = (name: string): DroppedEntry => ({
  isFile: true,
  name,
  file: (done) => done(new File(['x'], name)),
});

/** A reader of a browser gives its entries in parts. */
function folder(name: string, children: readonly DroppedEntry[], part = 2): DroppedEntry {
  return {
    isFile: false,
    name,
    createReader() {
      let at = 0;
      return {
        readEntries(done) {
          done(children.slice(at, at + part));
          at += part;
        },
      };
    },
  };
}

it('reads whole folders, past the entries that a browser gives at a time, and empty ones', async () => {
  const jars = ['a.jar', 'b.jar', 'c.jar', 'd.jar', 'e.jar'];
  const tree = await readEntries([
    folder('plugins', [...jars.map(file), folder('data', [])]),
    file('eula.txt'),
  ]);
  assert.deepEqual(
    tree.files.map(({ path }) => path),
    [...jars.map((jar) => `plugins/${jar}`), 'eula.txt'],
  );
  assert.deepEqual(tree.emptyFolders, ['plugins/data']);
  assert.deepEqual([...topNames(tree)], ['plugins', 'eula.txt']);
  const left = without(tree, new Set(['plugins']));
  assert.deepEqual([...topNames(left)], ['eula.txt']);
});
