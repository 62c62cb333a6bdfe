import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SourceSets } from '@portcullis/core/firewall/policy.ts';
import type { EdgePage } from '@portcullis/link/messages/edge.ts';
import { mergePages } from './desired.ts';

const page = (sourceSets: SourceSets | null): EdgePage => ({
  kind: 'edge.page',
  generation: 7,
  whole: false,
  policies: [],
  removed: [],
  sourceSets,
  settings: {
    name: 'a',
    site: 'fra',
    devices: ['eth0'],
    management: [],
    sees: 'both',
    fragments: 'reassemble',
  },
  next: null,
});

test('joins the parts of source sets, and replaces those of another version', () => {
  const held = mergePages(null, [page({ version: '1', sets: { 'country:XX': ['192.0.2.0/24'] } })]);
  const parts = [
    page(null),
    page({ version: '2', sets: { 'country:YY': ['10.0.0.0/24'] } }),
    page({ version: '2', sets: { 'country:YY': ['10.0.1.0/24'], 'country:ZZ': [] } }),
  ];
  const sets = { 'country:YY': ['10.0.0.0/24', '10.0.1.0/24'], 'country:ZZ': [] };
  assert.deepEqual(mergePages(held, parts).sourceSets, { version: '2', sets });
});

test('keeps the same source set object for a sync without source sets', () => {
  const held = mergePages(null, [page({ version: '1', sets: {} })]);
  assert.equal(mergePages(held, [page(null)]).sourceSets, held.sourceSets);
});
