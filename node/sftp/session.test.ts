import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { TestFiles, UUID } from '../files/testing/files.ts';
import type { SftpResult } from './messages.ts';
import { SftpSession } from './session.ts';

const WRITE = 0x02;

function handleOf(result: SftpResult): number {
  assert.ok(result.kind === 'handle', JSON.stringify(result));
  return result.handle;
}

test('files that are opened to go on hold no place of the operations while they are copied', async (t) => {
  const files = new TestFiles(t);
  const names = Array.from({ length: 12 }, (_, index) => `log-${index}`);
  for (const name of names) files.put(name, 'old ');
  const [measures, measured] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  // As on a slow disk: copies wait for the quota.
  files.beforeMeasure = () => {
    measures.resolve();
    return measured.promise;
  };
  const ref = { person: 1, server: UUID, credential: 'password:1' };
  const rights = ['file.read', 'file.update'] as const;
  const session = new SftpSession(
    files.service,
    { session: ref, rights: [...rights] },
    {
      record: () => undefined,
      held: { count: 0, limit: 1_000 },
    },
  );
  const opens = names.map((path) => session.perform({ kind: 'open', path, flags: WRITE }));
  await measures.promise;
  assert.deepEqual(await files.names(), [...names].toSorted());
  measured.resolve();
  for (const opened of await Promise.all(opens)) {
    const handle = handleOf(opened);
    const data = Buffer.from('new');
    const wrote = await session.perform({ kind: 'write', handle, offset: 4, data });
    assert.equal(wrote.kind, 'done');
    assert.equal((await session.perform({ kind: 'close', handle })).kind, 'done');
  }
  for (const name of names) {
    assert.equal(readFileSync(join(files.folder, name), 'utf8'), 'old new');
  }
  await session.close('lost');
});
