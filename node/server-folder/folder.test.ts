import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { Worker } from 'node:worker_threads';
import { Folder, isInFolder, Refusal } from './folder.ts';

describe("a server's folder", () => {
  it('never reads through a link that replaces a file during the check', async (t) => {
    const { folder, outside } = tree(t);
    mkdirSync(join(folder, 'conf'));
    const swapper = new Worker(new URL('testing/swap-links.ts', import.meta.url), {
      workerData: { folder, outside },
    });
    const seen = { files: 0, refusals: 0 };
    try {
      await once(swapper, 'online');
      const root = await Folder.open(folder);
      t.after(() => root.close());
      const untilMs = performance.now() + 4000;
      while (performance.now() < untilMs || seen.files < 10 || seen.refusals < 10) {
        const text = await readOnce(root);
        assert.doesNotMatch(text ?? '', /secret/);
        if (text === null) seen.refusals += 1;
        else seen.files += 1;
      }
    } finally {
      // Before the folder is removed: files created meanwhile would keep it.
      await swapper.terminate();
    }
    // Both cases occurred: the file of the game and its replacement.
    assert.ok(seen.files > 10 && seen.refusals > 10, JSON.stringify(seen));
  });

  it('does not tell whether a file of the host exists that a link in it leads to', async (t) => {
    const { folder, outside } = tree(t);
    mkdirSync(join(folder, 'bin'));
    writeFileSync(join(folder, 'bin/game'), '');
    symlinkSync(outside, join(folder, 'out'));
    for (const name of ['secret', 'missing']) symlinkSync(join(outside, name), join(folder, name));
    const found = async (path: string): Promise<boolean> => isInFolder(folder, path);
    assert.deepEqual([await found('./bin/game'), await found('./bin/other')], [true, false]);
    assert.deepEqual([await found('./lib/x'), await found('./bin/game/x')], [false, true]);
    for (const path of ['./secret', './missing', './out/secret', './out/missing', '../x'])
      assert.equal(await found(path), true, path);
  });

  it('remains the opened directory when its name is reused', async (t) => {
    const { folder, outside } = tree(t);
    mkdirSync(join(folder, 'a'));
    const root = await Folder.open(folder);
    const a = await root.enter('a', null);
    assert.ok(a !== null);
    rmSync(join(folder, 'a'), { recursive: true });
    symlinkSync(outside, join(folder, 'a'));
    await assert.rejects(a.write('x', Buffer.from('x'), 0o644, null), Refusal);
    await assert.rejects(root.enter('a', null), Refusal);
    assert.deepEqual(readdirSync(outside), ['secret.cfg']);
    await a.close();
    await root.close();
  });

  it('is no link itself, and rejects names that lead elsewhere', async (t) => {
    const { folder, outside } = tree(t);
    symlinkSync(outside, join(folder, 'link'));
    await assert.rejects(Folder.open(join(folder, 'link')));
    const root = await Folder.open(folder);
    for (const name of ['', '.', '..', 'a/b', '../x', 'a\0']) {
      await assert.rejects(root.read(name, 10, null), Refusal);
      await assert.rejects(root.write(name, Buffer.of(), 0o644, null), Refusal);
      await assert.rejects(root.enter(name, { owner: null }), Refusal);
    }
    await root.close();
  });
});

/** The text of `conf/a.cfg`, or null if it was rejected or missing. */
async function readOnce(root: Folder): Promise<string | null> {
  let conf: Folder | null = null;
  try {
    conf = await root.enter('conf', null);
    const content = await conf?.read('a.cfg', 1024, null);
    return content?.bytes.toString() ?? null;
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error));
    return null;
  } finally {
    await conf?.close();
  }
}

function tree(t: TestContext): { readonly folder: string; readonly outside: string } {
  const root = mkdtempSync(join(tmpdir(), 'portcullis-folder-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const folder = join(root, 'server');
  const outside = join(root, 'outside');
  mkdirSync(folder);
  mkdirSync(outside);
  writeFileSync(join(outside, 'secret.cfg'), 'key=secret\n');
  return { folder, outside };
}
