import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { FileRight } from '@portcullis/core/access/server-rights.ts';
import type { FileOperation } from '@portcullis/link/messages/files.ts';
import { tarOf } from './archives/testing/archives.ts';
import { TestFiles, writing } from './testing/files.ts';

const CREATES: readonly FileRight[] = [
  'file.read',
  'file.read-content',
  'file.archive',
  'file.create',
];

/** The outcome of an operation that waits for the disk while a game does something. */
async function during(
  files: TestFiles,
  operation: FileOperation,
  rights: readonly FileRight[],
  game: () => void,
): Promise<string | undefined> {
  const disk = Promise.withResolvers<void>();
  files.slowDisk = disk.promise;
  const outcome = files.code(operation, rights);
  await files.measures;
  game();
  disk.resolve();
  return outcome;
}

describe('a file that a game makes while one is written', () => {
  const write = writing('new', 'by the caller');
  const unpack = { kind: 'unpack', path: 'a.tar', to: '' } as const;
  for (const operation of [write, unpack] as const) {
    it(`is not replaced by a ${operation.kind} that may only create`, async (t) => {
      const files = new TestFiles(t);
      files.put('a.tar', await tarOf([{ name: 'new' }, 'by the caller']));
      const game = (): void => files.put('new', 'by the game');
      assert.equal(await during(files, operation, CREATES, game), 'forbidden');
      assert.equal(readFileSync(join(files.folder, 'new'), 'utf8'), 'by the game');
    });
  }
});
