import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { DockerClient } from './client.ts';

test('reports Docker as alive with any number of pending calls, and as hanging when it hangs', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'pcl-client-'));
  let hangs = false;
  const waiting = Promise.withResolvers<void>();
  const server = createServer((requested, answer) => {
    if (requested.url === '/version')
      answer.end(JSON.stringify({ ApiVersion: '1.41', MinAPIVersion: '1.12' }));
    else if (requested.url === '/_ping' && !hangs) answer.end('OK');
    else waiting.resolve();
  });
  const socket = join(folder, 'docker.sock');
  server.listen(socket);
  await once(server, 'listening');
  const client = new DockerClient(socket);
  const calls = Array.from({ length: 100 }, () => client.call('GET', '/containers/json'));
  for (const call of calls) call.catch(() => undefined);
  t.after(() => {
    client.close();
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  await waiting.promise;
  await client.ping(5_000);
  hangs = true;
  await assert.rejects(client.ping(50), { name: 'EngineError', code: 'timeout' });
});
