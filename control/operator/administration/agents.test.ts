import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem } from '../../problem.ts';
import { createAgentHandlers } from './agents.ts';

test('no join command is made for a URL that join refuses', async () => {
  const { createJoinCommand } = createAgentHandlers('http://10.0.0.1:8080');
  await assert.rejects(
    async () => createJoinCommand({} as never, {} as never),
    (error) =>
      error instanceof Problem &&
      error.code === 'invalid_request' &&
      /over HTTPS only, and control is at http:\/\/10\.0\.0\.1:8080.*up --hosts/.test(error.detail),
  );
});
