import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { natsFailure, requireNatsServer } from './nats-server.ts';

const AT = { listen: '0.0.0.0:4223', port: 4223 };

function folder(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'portcullis-nats-'));
  t.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

test('where nats-server is missing, the sentence says what to install', (t) => {
  const empty = folder(t);
  assert.throws(
    () => requireNatsServer(['', empty]),
    /nats-server is not installed here: apt-get install nats-server .*--nats tls:/,
  );
  writeFileSync(join(empty, 'nats-server'), '');
  assert.equal(requireNatsServer([empty]), join(empty, 'nats-server'));
});

test('a server that does not start says why, by the end of its log', (t) => {
  const made = folder(t);
  const fatal = (text: string): string => {
    const line = `[17] 2026/11/27 18:22:57.778646 [FTL] ${text}\n`;
    writeFileSync(join(made, 'nats.log'), `[17] 2026/11/27 18:22:55.86 [INF] Starting\n${line}`);
    return natsFailure(made, AT);
  };
  assert.match(
    fatal('Error listening on port: 0.0.0.0:4223, "bind: address already in use"'),
    /port 4223 is taken by another program.*--nats-listen/,
  );
  assert.match(fatal('no certificate'), /did not start: \[FTL\] no certificate \(.*nats\.log\)$/);
  rmSync(join(made, 'nats.log'));
  assert.match(natsFailure(made, AT), /its log is empty/);
});
