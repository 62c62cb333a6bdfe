import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { insertEdge } from '@portcullis/control/fleet/testing.ts';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');

const USE = `
async function main() {
  const client = createClient({ baseUrl: process.env.BASE_URL, key: process.env.KEY });
  const made = await client.createRules({ ip: '203.0.113.10', body: { action: 'deny', protocol: 'udp', destination_port: process.env.PORT ?? '' } });
  await client.waitUntilLive(made.response.generation, { ip: '203.0.113.10' });
  try {
    await client.readFirewallAddress({ ip: '192.0.2.1' });
  } catch (error) {
    console.log(made.data.created, error instanceof NotFoundError && error.code);
  }
}
main();
`;
const PROJECTS = [
  { type: 'module', head: `import { createClient, NotFoundError } from '@portcullis/client';` },
  {
    type: 'commonjs',
    head: `const { createClient, NotFoundError } = require('@portcullis/client');`,
  },
] as const;

/** The newest Node.js of each major release in the PATH. */
async function runtimes(): Promise<Map<number, string>> {
  const found = new Map([[Number(process.versions.node.split('.')[0]), process.execPath]]);
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, 'node');
    const version = await run(path, ['--version']).catch(() => null);
    const major = Number(/^v(\d+)\./.exec(version?.stdout ?? '')?.[1] ?? 0);
    if (major >= 20 && !found.has(major)) found.set(major, path);
  }
  return found;
}

test('installs and runs as an ES module and as CommonJS, with types, without another package', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-client-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const { url, acme, db } = await startEnvironment(t);
  await insertEdge(db, 'fra1');
  // An edge that has whatever is accepted.
  const has = {
    confirmed_generation: 1_000,
    enforcing_since: new Date(),
    in_service: true,
  } as const;
  await db
    .updateTable('edges')
    .set({ ...has, mode: 'enforce' })
    .execute();
  await run('npm', ['pack', '--ignore-scripts=false', '--pack-destination', folder], {
    cwd: import.meta.dirname,
  });
  const [archive] = await readdir(folder);
  assert.ok(archive);
  const nodes = await runtimes();
  let port = 1000;
  for (const { type, head } of PROJECTS) {
    const project = join(folder, type);
    await mkdir(project);
    await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'fresh', type }));
    const install = ['install', '--offline', '--no-audit', '--no-fund', join(folder, archive)];
    await run('npm', install, { cwd: project });
    assert.deepEqual(await readdir(join(project, 'node_modules', '@portcullis')), ['client']);
    await assert.rejects(access(join(project, 'node_modules', 'typebox')));
    await checkTypes(project, type);
    await writeFile(join(project, 'main.js'), head + USE);
    for (const node of nodes.values()) {
      port++;
      const env = { BASE_URL: url, KEY: acme.authorization?.slice(7), PORT: String(port) };
      const { stdout } = await run(node, ['main.js'], { cwd: project, env });
      assert.equal(stdout, '1 not_found\n');
    }
  }
  t.diagnostic(`ran in Node.js ${[...nodes.keys()].join(' and ')}`);
});

/** Compiles the same use in strict TypeScript, as the project's own module format. */
async function checkTypes(project: string, type: 'module' | 'commonjs'): Promise<void> {
  const main = `import { createClient, NotFoundError } from '@portcullis/client';
declare const process: { env: { BASE_URL: string; KEY: string; PORT?: string } };
declare const console: { log(...values: unknown[]): void };
${USE}
export async function mistaken(client: ReturnType<typeof createClient>) {
  // @ts-expect-error: there is no such protocol
  await client.createRules({ ip: '203.0.113.10', body: { action: 'deny', protocol: 'smtp' } });
  // @ts-expect-error: the address is missing
  await client.readFirewallAddress({});
}
`;
  const file = join(project, type === 'module' ? 'check.mts' : 'check.cts');
  await writeFile(file, main);
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--lib', 'es2022,dom'];
  const tsc = join(root, 'node_modules', '.bin', 'tsc');
  await run(tsc, [...options, '--types', '', file], { cwd: project }).catch(
    (error: { stdout: string }) => assert.fail(error.stdout),
  );
  assert.match(await readFile(file, 'utf8'), /mistaken/);
}
