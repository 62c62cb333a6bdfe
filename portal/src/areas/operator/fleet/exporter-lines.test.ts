import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExporters, showExporters } from './exporter-lines.ts';

test('exporters are read as they are shown', () => {
  const exporters = [
    { ip: '192.0.2.1', sampling_rate: 1_000, prefixes: ['203.0.113.0/24', '2001:db8::/32'] },
    { ip: '2001:db8::1', sampling_rate: null, prefixes: 'all' as const },
  ];
  const shown = '192.0.2.1 1:1000 of 203.0.113.0/24, 2001:db8::/32\n2001:db8::1 of all';
  assert.equal(showExporters(exporters), shown);
  assert.deepEqual(parseExporters(`${shown}\n`), exporters);
});

test('an exporter of which nothing is said is sent without it, and a wrong line as its address', () => {
  assert.deepEqual(parseExporters('192.0.2.1'), [{ ip: '192.0.2.1', sampling_rate: null }]);
  assert.deepEqual(parseExporters('what is this'), [{ ip: 'what is this', sampling_rate: null }]);
});
