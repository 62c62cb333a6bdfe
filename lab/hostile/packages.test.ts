import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '..', '..');
const REGISTRY = 'https://registry.npmjs.org/';

interface Locked {
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
}

function read(path: string): unknown {
  return JSON.parse(readFileSync(join(ROOT, path), 'utf8'));
}

test('every package that ships is of one registry, with its digest, and asked for by an exact version', () => {
  const { packages } = read('package-lock.json') as {
    readonly packages: Readonly<Record<string, Locked>>;
  };
  const installed = Object.entries(packages).filter(
    ([path, { link }]) => path.includes('node_modules/') && link !== true,
  );
  assert.ok(installed.length > 300, `${installed.length} packages`);
  for (const [path, { resolved, integrity }] of installed) {
    // Without an address it is from the registry of npm, which .npmrc does not change.
    if (resolved !== undefined) assert.ok(resolved.startsWith(REGISTRY), `${path}: ${resolved}`);
    assert.match(integrity ?? '', /^sha512-[A-Za-z0-9+/]{86}==$/, path);
  }
});

test('no dependency may be another version than the one that was read', () => {
  const { workspaces } = read('package.json') as { readonly workspaces: readonly string[] };
  const files = ['package.json', ...workspaces.map((room) => `${room}/package.json`)];
  let count = 0;
  for (const file of [...files, ...globSync('node/images/files/*/package.json', { cwd: ROOT })]) {
    const found = read(file) as Record<string, Readonly<Record<string, string>> | undefined>;
    for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies', 'overrides']) {
      for (const [name, version] of Object.entries(found[kind] ?? {})) {
        assert.match(
          JSON.stringify(version),
          /^"\d+\.\d+\.[\w.-]+"$/,
          `${file}: ${name} ${version}`,
        );
        count += 1;
      }
    }
  }
  assert.ok(count > 80, `${count} dependencies`);
  const settings = readFileSync(join(ROOT, '.npmrc'), 'utf8').split('\n');
  assert.ok(settings.includes('save-exact=true'));
  assert.ok(!settings.some((line) => line.startsWith('registry')), 'another registry');
});
