import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { findEngine } from './load.ts';

test('without Docker, it says what to do', async () => {
  const nowhere = join(tmpdir(), 'no-docker', 'docker.sock');
  await assert.rejects(findEngine(nowhere), /ENOENT.*apt-get install.*--docker-host.*--only-make/);
});
