import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blockRequestOf, EMPTY_BLOCK } from './blocked-draft.ts';
import { findStillOpen } from './still-open.ts';

test('sends the sources of a text, where they are blocked, and until when', () => {
  const sources = '198.51.100.7, 198.51.100.8\n2001:db8::/32';
  const draft = { ...EMPTY_BLOCK, sources, note: ' scans ' };
  assert.deepEqual(blockRequestOf(draft, '203.0.113.10', 0), {
    sources: ['198.51.100.7', '198.51.100.8', '2001:db8::/32'],
    target: '203.0.113.10',
    note: 'scans',
    expires_at: null,
  });
  const hour = blockRequestOf({ ...draft, where: 'everything', ends: 'hour' }, '203.0.113.10', 0);
  assert.equal(hour.target, null);
  assert.equal(hour.expires_at, '1970-01-01T01:00:00.000Z');
});

test('finds the denied sources that still pass in the message of a write', () => {
  const pass = (source: string) =>
    `Packets from ${source} still pass to tcp 80, udp 53: allow rules are read before every deny.`;
  const message = `1 rule was created. ${pass('192.0.2.7')} To drop those too, block the source (POST /api/x1/firewall/blocked, or portcullis firewall block 192.0.2.7). ${pass('2001:db8::/32')}`;
  assert.deepEqual(findStillOpen(message), [
    { source: '192.0.2.7', sentence: pass('192.0.2.7') },
    { source: '2001:db8::/32', sentence: pass('2001:db8::/32') },
  ]);
  assert.deepEqual(findStillOpen('1 rule was created.'), []);
});
