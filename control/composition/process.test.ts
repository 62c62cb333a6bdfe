import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { testDatabase } from '../db/testing.ts';
import { inOneLine } from './process.ts';

const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url));

interface Started {
  readonly child: ChildProcess;
  stderr(): string;
}

async function startControl(
  t: TestContext,
  env: Readonly<Record<string, string>>,
): Promise<Started> {
  const dataDir = await mkdtemp(join(tmpdir(), 'pcl-'));
  await chmod(dataDir, 0o755);
  const child = spawn(process.execPath, [MAIN], {
    env: {
      PATH: process.env['PATH'],
      PORTCULLIS_DATA: join(dataDir, 'data'),
      PORTCULLIS_LISTEN: '127.0.0.1:0',
      PORTCULLIS_METRICS_LISTEN: 'off',
      ...env,
    },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  let stderr = '';
  child.stderr?.on('data', (chunk) => {
    stderr += String(chunk);
  });
  t.after(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    await rm(dataDir, { recursive: true, force: true });
  });
  return { child, stderr: () => stderr };
}

async function readyUrl({ child, stderr }: Started): Promise<string> {
  const [message] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => assert.fail(stderr())),
  ]);
  const { kind, url } = message as { kind: string; url: string };
  assert.equal(kind, 'ready');
  return url;
}

test('announces readiness after dropping root, and exits with 0 on a signal', async (t) => {
  const { url: databaseUrl } = await testDatabase(t);
  const started = await startControl(t, { DATABASE_URL: databaseUrl });
  const url = await readyUrl(started);
  assert.equal((await fetch(`${url}/readyz`)).status, 200);
  const status = await readFile(`/proc/${started.child.pid}/status`, 'utf8');
  const uids = /^Uid:\s+(.+)$/m.exec(status)?.[1]?.split('\t') ?? [];
  assert.equal(uids.length, 4);
  assert.equal(uids.includes('0'), false, 'no identity of root is left, nor a way back to it');
  assert.match(status, /^CapEff:\s+0+$/m);
  const exited = once(started.child, 'exit');
  started.child.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null], started.stderr());
});

test('exits when its supervisor disappears', async (t) => {
  const { url: databaseUrl } = await testDatabase(t);
  const started = await startControl(t, { DATABASE_URL: databaseUrl });
  await readyUrl(started);
  const exited = once(started.child, 'exit');
  started.child.disconnect();
  assert.deepEqual(await exited, [0, null], started.stderr());
});

test('exits with 78 and one line per mistake on a wrong configuration', async (t) => {
  const started = await startControl(t, {
    PORTCULLIS_LISTEN: 'nonsense',
    PORTCULLIS_TLS_KEY: '/x',
  });
  assert.deepEqual(await once(started.child, 'exit'), [78, null]);
  assert.deepEqual(started.stderr().trim().split('\n'), [
    'portcullis control: PORTCULLIS_LISTEN: "nonsense" is not HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080.',
    'portcullis control: TLS needs both PORTCULLIS_TLS_CERT and PORTCULLIS_TLS_KEY.',
  ]);
});

test('exits with 69 and one line without secrets when it cannot start', async (t) => {
  const { url: databaseUrl } = await testDatabase(t);
  const started = await startControl(t, {
    DATABASE_URL: databaseUrl,
    PORTCULLIS_TLS_CERT: '/nowhere/cert.pem',
    PORTCULLIS_TLS_KEY: '/nowhere/key.pem',
    PORTCULLIS_LOG_LEVEL: 'error',
  });
  assert.deepEqual(await once(started.child, 'exit'), [69, null]);
  assert.match(
    started.stderr(),
    /^portcullis control: cannot start: The TLS certificate \/nowhere\/cert\.pem cannot be read: ENOENT[^\n]*\n$/,
  );
});

test('formats an error and its causes as one line without repetition', () => {
  const inner = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE', port: 8080 });
  assert.equal(
    inOneLine(new Error('The API\ncannot listen', { cause: inner })),
    'The API cannot listen: port 8080 is taken by another program; choose another with --listen or --metrics-listen',
  );
  const circular = new Error('round');
  circular.cause = circular;
  assert.equal(inOneLine(circular), 'round');
  assert.equal(inOneLine(new AggregateError([new Error('a'), new Error('b')])), 'a, b');
});
