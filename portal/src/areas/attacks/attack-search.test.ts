import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isBackwards, parseTerms, readSearch, windowOf } from './attack-search.ts';

describe('the search of the attacks', () => {
  it('takes an address, a prefix and an ASN, which narrow together', () => {
    assert.deepEqual(parseTerms(' 203.0.113.10 '), { ok: true, where: { ip: '203.0.113.10' } });
    assert.deepEqual(parseTerms('AS64500, 203.0.113.0/24'), {
      ok: true,
      where: { asn: 64500, prefix: '203.0.113.0/24' },
    });
    assert.deepEqual(parseTerms('2001:db8::1'), { ok: true, where: { ip: '2001:db8::1' } });
    assert.deepEqual(parseTerms(''), { ok: true, where: {} });
  });

  it('says what it does not understand, and sends nothing', () => {
    for (const wrong of ['203.0.113.1/24', 'AS0', 'AS4294967296', 'example.org', '203.0.113']) {
      assert.equal(parseTerms(wrong).ok, false, wrong);
    }
    assert.equal(parseTerms('AS1 AS2').ok, false);
  });

  it('asks for a window that ends now, or for the given one', () => {
    const now = Date.parse('2026-11-21T02:00:00Z');
    assert.deepEqual(windowOf({}, now), { from: '2026-11-20T02:00:00.000Z' });
    const given = { window: 'custom', from: '2026-11-01T00:00:00Z' } as const;
    assert.deepEqual(windowOf(given, now), { from: '2026-11-01T00:00:00Z' });
    assert.ok(isBackwards({ ...given, to: '2026-10-01T00:00:00Z' }));
  });

  it('leaves out what is not understood in the address of the page', () => {
    const search = { q: 64500, window: 'aeon', from: 'yesterday', ongoing: 'true', x: '1' };
    assert.deepEqual(readSearch(search), { q: '64500', ongoing: true });
  });
});
