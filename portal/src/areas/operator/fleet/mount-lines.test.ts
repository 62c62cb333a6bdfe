import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mountLines, mountsOf } from './mount-lines.ts';

test('mounts are typed one a line, and read back as they were', () => {
  const typed =
    'maps /srv/maps /home/container/maps ro eggs/paper.json\nshared /srv/shared /shared rw';
  const mounts = mountsOf(`\n  ${typed}  \n`);
  assert.deepEqual(mounts, [
    {
      name: 'maps',
      source: '/srv/maps',
      target: '/home/container/maps',
      read_only: true,
      eggs: ['eggs/paper.json'],
    },
    { name: 'shared', source: '/srv/shared', target: '/shared', read_only: false, eggs: [] },
  ]);
  assert.equal(mountLines(mounts), typed);
  assert.deepEqual(mountsOf('maps /srv/maps /maps'), [
    { name: 'maps', source: '/srv/maps', target: '/maps', read_only: true, eggs: [] },
  ]);
});
