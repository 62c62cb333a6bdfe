import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CONTINENTS, parseCountry } from './countries.ts';

describe('country codes', () => {
  it('are the 249 of ISO 3166-1, each on one continent', () => {
    const codes = Object.values(CONTINENTS).flat();
    assert.deepEqual([codes.length, new Set(codes).size], [249, 249]);
    const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
    assert.deepEqual(
      codes.filter((code) => names.of(code) === undefined),
      [],
    );
  });

  it('name what was probably meant', () => {
    assert.deepEqual(parseCountry('XK'), { ok: true, value: 'XK' });
    const wrong = parseCountry('UK');
    assert.match(wrong.ok ? '' : wrong.reason, /GB was probably meant/);
  });
});
