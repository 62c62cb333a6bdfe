import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';

const run = promisify(execFile);

test('installs as a package of its own, and works with a key and a URL', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-package-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const env = { PATH: process.env['PATH'], HOME: folder };
  await run(process.execPath, [join(import.meta.dirname, 'build.ts')], { env });
  const dist = join(import.meta.dirname, 'dist');
  await run('npm', ['pack', '--silent', '--pack-destination', folder, dist], { env, cwd: folder });
  const packed = (await readdir(folder)).find((name) => name.endsWith('.tgz'));
  const install = ['install', '--global', '--offline', '--prefix', folder, `./${packed}`];
  await run('npm', install, { env, cwd: folder });
  assert.deepEqual(await readdir(join(folder, 'lib', 'node_modules')), ['@portcullis']);

  const world = await startEnvironment(t);
  const access = {
    PORTCULLIS_URL: world.url,
    PORTCULLIS_API_KEY: (world.acme.authorization ?? '').replace('Bearer ', ''),
  };
  // The Node of this run, which is the one that it asks for.
  const command = (...args: readonly string[]) =>
    run(process.execPath, [join(folder, 'bin', 'portcullis'), ...args], {
      env: { ...env, ...access },
    });
  assert.match((await command('--help')).stdout, /firewall +rules, filters and blocked sources/);
  assert.match((await command('whoami')).stdout, /^organisation +.*\(acme\)$/m);
  await command('firewall', 'open', '203.0.113.10', 'tcp', '25565');
  assert.match((await command('firewall', 'show', '203.0.113.10')).stdout, /allow +tcp +25565/);
  // As an older Node would run it, which lacks what the program imports.
  const older = `Object.defineProperty(process, 'versions', { value: { node: '20.19.0' } })`;
  const refused = await run(
    process.execPath,
    ['--import', `data:text/javascript,${older}`, join(folder, 'bin', 'portcullis'), '--help'],
    { env },
  ).catch((error: unknown) => error);
  const { code, stderr } = refused as { readonly code: number; readonly stderr: string };
  assert.deepEqual(
    [code, stderr],
    [69, 'portcullis: needs Node.js 24 or later, and this is 20.19.0\n'],
  );
});
