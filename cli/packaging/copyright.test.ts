import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bundledPackages, installedPackages, renderCopyright } from './copyright.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const MODULES = join(ROOT, 'node_modules');

test('the copyright of the package names all that is shipped, its licence, and whom the data is by', () => {
  const installed = installedPackages(MODULES);
  const bundled = bundledPackages(MODULES, join(ROOT, 'portal'));
  assert.ok(installed.length > 200, `${installed.length} packages`);
  assert.ok(bundled.length > 20, `${bundled.length} packages of the portal`);
  const text = renderCopyright(installed, bundled, (file) =>
    readFileSync(join(MODULES, file), 'utf8'),
  );
  for (const { name, version, license } of [...installed, ...bundled])
    assert.ok(text.includes(`  ${name} ${version}: ${license}\n`), name);
  for (const named of ['fastify', 'koffi', 'pg', '@ip-location-db/asn', 'react', '@mantine/core'])
    assert.match(text, new RegExp(`^  ${named} \\d`, 'm'));
  for (const needed of [
    /https:\/\/db-ip\.com/,
    /routeviews\.org/,
    /licenses\/by\/4\.0/,
    /PostgreSQL Licence/,
    /kernel \(dataplane\/xdp\/bpf\): MIT, or GPL-2\.0-only/,
    /Node\.js/,
  ])
    assert.match(text, needed);
  // The notice that the MIT licence asks to be kept.
  assert.match(text, /Copyright \(c\) (?:Meta|Facebook)/);
});

test('no package is shipped without a word on its licence', () => {
  const unknown = [...installedPackages(MODULES), ...bundledPackages(MODULES, join(ROOT, 'portal'))]
    .filter(({ license, files }) => license === 'see its files' && files.length === 0)
    .map(({ name }) => name);
  assert.deepEqual(unknown, []);
});

test('every page of the portal that uses the data links to those whom it is by', () => {
  const areas = join(ROOT, 'portal/src/areas/addresses');
  const link = readFileSync(join(areas, 'geo/GeoSources.tsx'), 'utf8');
  assert.match(link, /href="https:\/\/db-ip\.com"/);
  assert.match(link, /href="https:\/\/www\.routeviews\.org"/);
  for (const page of ['geo/GeoPanel.tsx', 'explain/Verdict.tsx'])
    assert.match(readFileSync(join(areas, page), 'utf8'), /<GeoSources \/>/, page);
});
