import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { AgentRequest } from '@portcullis/link/messages/messages.ts';
import { serveIpc } from '@portcullis/link/transport/ipc.ts';
import { endClaim, saveClaim } from './claim.ts';

const REASON = 'disabled by the operator of this host';
const WELCOME = {
  kind: 'edge.welcome',
  protocolVersion: 1,
  generation: 0,
  settings: {
    name: 'fra1',
    site: 's',
    devices: [],
    sees: 'both',
    fragments: 'reassemble',
    management: [],
  },
  heartbeatMs: 1_000,
  resyncMs: 1_000,
} as const;

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'pcl-claim-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

test('reports for an agent that is gone that the edge observes, with the credential of the agent', async (t) => {
  const stateDir = folder(t);
  const linkPath = join(stateDir, 'link.sock');
  const received: AgentRequest[] = [];
  const control = await serveIpc({
    path: linkPath,
    admit: async ({ name }, credential) =>
      name === 'fra1' && credential === 'secret' ? { ok: true } : { ok: false, reason: 'no' },
    handler: async (_, request) => {
      received.push(request);
      return WELCOME;
    },
  });
  t.after(() => control.close());
  writeFileSync(join(stateDir, 'claim.json'), '{}');
  chmodSync(join(stateDir, 'claim.json'), 0o644);
  saveClaim(stateDir, { name: 'fra1', linkPath, credential: 'secret' });
  assert.equal(statSync(join(stateDir, 'claim.json')).mode & 0o777, 0o600);
  assert.equal(await endClaim(stateDir, REASON), true);
  const [hello] = received;
  assert.ok(hello?.kind === 'edge.hello');
  assert.deepEqual([received.length, hello.mode, hello.modeReason], [1, 'observe', REASON]);
  saveClaim(stateDir, { name: 'fra1', linkPath, credential: 'old' });
  assert.equal(await endClaim(stateDir, REASON), false);
});

test('does not need control, nor an agent that ever ran', async (t) => {
  const stateDir = folder(t);
  assert.equal(await endClaim(stateDir, REASON), false);
  saveClaim(stateDir, { name: 'fra1', linkPath: join(stateDir, 'none.sock'), credential: null });
  assert.equal(await endClaim(stateDir, REASON), false);
});
