import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseCountry } from '@portcullis/core/net/countries.ts';
import { searchCountries } from './country-names.ts';
import { WORLD } from './world.ts';
import { describeGeo, findGeoMistake, inputOfGeo, newGeoDraft } from './geo-draft.ts';
import { targetOn } from '../target-on.ts';

const IP = '203.0.113.10';

describe('the form of a geo rule', () => {
  it('takes ASNs with and without their prefix, each once, and refuses what is none', () => {
    const draft = { ...newGeoDraft(IP), asns: ['AS64496', '64496', '64497'] };
    assert.equal(findGeoMistake(draft), null);
    assert.deepEqual(inputOfGeo(draft).asns, [64_496, 64_497]);
    for (const wrong of ['0', '4294967296', 'ASX', '']) {
      assert.notEqual(findGeoMistake({ ...draft, asns: [wrong] }), null, wrong);
    }
  });

  it('refuses to name nothing', () => {
    assert.match(findGeoMistake(newGeoDraft(IP)) ?? '', /Choose a country/);
  });

  it('finds countries by name, code and continent', () => {
    const codes = (search: string) =>
      searchCountries(search).flatMap(({ countries }) => countries.map(({ code }) => code));
    assert.deepEqual(codes('germany'), ['DE']);
    assert.ok(codes('south america').includes('BR'));
    assert.equal(codes('').length, 249);
    assert.deepEqual(codes('atlantis'), []);
  });
});

describe('the map', () => {
  it('has countries by the codes that rules take, each once', () => {
    const codes = WORLD.flatMap(({ code }) => code ?? []);
    for (const code of codes) assert.ok(parseCountry(code).ok, code);
    assert.equal(new Set(codes).size, codes.length);
    for (const code of ['FR', 'BJ', 'BF', 'NO', 'DE', 'XK']) assert.ok(codes.includes(code), code);
    assert.ok(codes.length > 170);
  });

  it('draws every one', () => {
    for (const { code, path } of WORLD) assert.match(path, /^M[\d.,LMZ-]+$/, code ?? 'no code');
  });
});

describe('a geo rule', () => {
  it('applies to an address by itself or by the longest prefix around it', () => {
    const targets = ['198.51.100.0/24', '203.0.113.0/24', '203.0.113.0/28', '2001:db8::/32'];
    assert.equal(targetOn(IP, targets), '203.0.113.0/28');
    assert.equal(targetOn(IP, [...targets, IP]), IP);
    assert.equal(targetOn('192.0.2.1', targets), null);
  });

  it('is described by names, a few of them', () => {
    assert.equal(describeGeo({ countries: ['DE'], asns: [64_496] }), 'Germany, AS64496');
    const countries = ['DE', 'FR', 'IT', 'ES', 'PT'];
    assert.equal(describeGeo({ countries, asns: [] }), 'Germany, France, Italy, Spain +1 more');
  });
});
