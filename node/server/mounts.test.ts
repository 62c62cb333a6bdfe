import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { allowMounts, checkMounts, parseMounts } from './mounts.ts';

test('a host offers single folders, and none of the kernel, of the node or inside another', () => {
  const offered = parseMounts(' /srv/maps:ro, /srv/shared ,/srv/plain:rw,');
  assert.deepEqual(offered, [
    { path: '/srv/maps', readOnly: true },
    { path: '/srv/shared', readOnly: false },
    { path: '/srv/plain', readOnly: false },
  ]);
  assert.equal(checkMounts(offered, '/var/lib/node'), offered);
  assert.throws(() => parseMounts('srv/maps'), /no absolute path/);
  for (const wrong of [
    '/',
    '/srv/../etc',
    '/srv/',
    '//srv',
    '/proc',
    '/sys/fs',
    '/dev/shm',
    '/var/lib/node',
    '/var/lib/node/servers',
    '/var/lib',
    '/srv/maps,/srv/maps/inner',
    '/srv/maps/inner,/srv/maps',
    '/srv/maps,/srv/maps',
  ]) {
    assert.throws(
      () => checkMounts(parseMounts(wrong), '/var/lib/node'),
      /cannot be offered/,
      wrong,
    );
  }
  checkMounts(parseMounts('/srv/maps,/srv/maps2'), '/var/lib/node');
});

test('control mounts only what the host offers, in the mode of the host, and never through a link', async (t) => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'portcullis-mounts-')));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const [maps, link, file] = ['maps', 'link', 'file'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(maps);
  symlinkSync('/etc', link);
  writeFileSync(file, '');
  const offered = [maps, link, file].map((path) => ({ path, readOnly: true }));
  const mount = (source: string) => ({ source, target: '/maps', readOnly: false });
  assert.deepEqual(await allowMounts([mount(maps)], offered), [{ ...mount(maps), readOnly: true }]);
  const writable = [{ path: maps, readOnly: false }];
  assert.deepEqual(await allowMounts([mount(maps)], writable), [mount(maps)]);
  for (const source of ['/etc', '/', join(maps, 'inner'), `${maps}/../link`, link, file]) {
    await assert.rejects(allowMounts([mount(source)], offered), { code: 'refused' }, source);
  }
  rmSync(maps, { recursive: true });
  await assert.rejects(allowMounts([mount(maps)], offered), { code: 'refused' });
});
