import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { it } from 'node:test';
import { saveFiles } from '@portcullis/cli/commands/server-files.ts';
import { testDatabase } from '@portcullis/control/db/testing.ts';
import { makeServerFiles } from '@portcullis/control/nats/server-files.ts';
import { require } from '../requirements.ts';

it('a NATS server starts from any folder by the configuration that it is given', async (t) => {
  if (!require(t, ['nats-server'])) return;
  const folder = mkdtempSync(join(tmpdir(), 'portcullis nats "config" '));
  t.after(() => rmSync(folder, { recursive: true }));
  const { db } = await testDatabase(t);
  const listen = '127.0.0.1:-1';
  saveFiles(
    folder,
    await makeServerFiles(db, { folder, listen, names: ['localhost'], cluster: null }),
  );
  const server = spawn('nats-server', ['-c', join(folder, 'nats.conf')], {
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(server, 'exit');
  t.after(async () => {
    server.kill('SIGKILL');
    await ended;
  });
  const log: string[] = [];
  for await (const line of createInterface(server.stderr)) {
    log.push(line);
    if (line.includes('Server is ready')) break;
  }
  assert.match(log.join('\n'), /Server is ready/);
});
