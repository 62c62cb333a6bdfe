import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { availableFilters, type FilterType, FILTERS } from '../filters/catalogue.ts';
import { parseAddress } from '../net/address.ts';
import { parseCidr } from '../net/cidr.ts';
import { ABILITIES, flagOf } from './abilities.ts';
import { holderOf } from './holdings.ts';
import { BASE62, formatKey, KEY_BODY_LENGTH, keyChecksum, parseKey } from './key-format.ts';

function held(organisation: number, text: string, since: number, until: number | null) {
  const cidr = parseCidr(text);
  assert.ok(cidr.ok);
  return { organisation, cidr: cidr.value, since, until };
}

function types(managed: readonly FilterType[]): FilterType[] {
  return availableFilters(managed).map((filter) => filter.type);
}

const body = fc
  .array(fc.constantFrom(...BASE62.split('')), {
    minLength: KEY_BODY_LENGTH,
    maxLength: KEY_BODY_LENGTH,
  })
  .map((characters) => characters.join(''));

test('consists of a prefix, 40 characters and a 6-character checksum, and parses back', () => {
  fc.assert(
    fc.property(body, (drawn) => {
      const key = formatKey(drawn);
      assert.match(key, /^pcl_[0-9A-Za-z]{46}$/);
      assert.deepEqual(parseKey(key), { ok: true, value: drawn });
    }),
  );
});

test('detects one mistyped character of a key without a database query', () => {
  fc.assert(
    fc.property(body, fc.nat(45), fc.constantFrom(...BASE62.split('')), (drawn, at, character) => {
      const key = formatKey(drawn);
      const changed = `${key.slice(0, 4 + at)}${character}${key.slice(5 + at)}`;
      assert.equal(parseKey(changed).ok, changed === key);
    }),
  );
});

test('uses the same CRC-32 checksum as zlib', () => {
  assert.equal(keyChecksum('123456789'), toBase62(0xcbf43926));
});

test('never quotes a rejected key, because it may be a secret', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 20 }), (secret) => {
      const read = parseKey(`pcl_${secret}`);
      if (!read.ok) assert.ok(!read.reason.includes(secret));
    }),
  );
});

test('requires flags for the firewall and the attack history, but not for game servers', () => {
  assert.deepEqual(
    ABILITIES.map((ability) => [ability, flagOf(ability)]),
    [
      ['firewall.read', 'firewall_api'],
      ['firewall.manage', 'firewall_api'],
      ['attacks.read', 'attack_history_api'],
      ['game-servers.read', null],
      ['game-servers.manage', null],
      ['game-servers.files', null],
      ['game-servers.settings', null],
      ['game-servers.create', null],
    ],
  );
});

test('assigns an address to the most specific holding while it is valid', () => {
  const holdings = [
    held(1, '203.0.113.0/24', 0, null),
    held(2, '203.0.113.0/28', 10, 20),
    held(3, '203.0.113.5', 15, 30),
  ];
  const who = (text: string, at: number) => {
    const address = parseAddress(text);
    assert.ok(address.ok);
    return holderOf(holdings, address.value, at)?.organisation ?? null;
  };
  assert.deepEqual(
    [9, 10, 15, 19, 20, 29, 30].map((at) => who('203.0.113.5', at)),
    [1, 2, 3, 3, 3, 3, 1],
  );
  assert.equal(who('203.0.113.200', 15), 1);
  assert.equal(who('203.0.114.1', 15), null);
  assert.equal(who('203.0.113.5', -1), null);
});

test('excludes filters that a service manages itself from the catalogue of its addresses', () => {
  assert.deepEqual(
    types([]),
    FILTERS.map((filter) => filter.type),
  );
  assert.deepEqual(
    types(['udp-stateful', 'source']),
    types([]).filter((type) => type !== 'udp-stateful' && type !== 'source'),
  );
});

function toBase62(value: number): string {
  let text = '';
  for (let rest = value; rest > 0; rest = Math.floor(rest / 62))
    text = `${BASE62[rest % 62]}${text}`;
  return text.padStart(6, '0');
}
