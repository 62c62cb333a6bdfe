import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { parseCidr } from '@portcullis/core/net/cidr.ts';
import { loadSourceSets, prepareSourceSets, releaseSourceSets } from './source-sets.ts';

after(releaseSourceSets);

test('sets are canonical, sorted, without overlaps or neighbours to merge, IPv4 before IPv6', async () => {
  const { sets } = await loadSourceSets(['country:LI', 'asn:13335']);
  for (const cidrs of Object.values(sets)) {
    assert.ok(cidrs.length > 10);
    let end = { family: 4, value: -2n };
    for (const text of cidrs) {
      const parsed = parseCidr(text);
      assert.ok(parsed.ok);
      const { family, value, length } = parsed.value;
      if (family !== end.family) end = { family, value: -2n };
      assert.ok(family >= end.family && value > end.value, `${text} after ${end.value}`);
      end = { family, value: value + (1n << BigInt((family === 4 ? 32 : 128) - length)) - 1n };
    }
  }
});

test('unknown names give empty sets', async () => {
  const names = [
    'country:XX',
    'asn:4294967295',
    'country:',
    'list:mine',
    'asn:13335,',
    '__proto__',
  ];
  const { sets } = await loadSourceSets(names);
  assert.deepEqual(
    Object.keys(sets).toSorted(),
    names
      .filter((name) => name !== '__proto__')
      .toSorted()
      .concat('__proto__')
      .toSorted(),
  );
  for (const name of names)
    assert.deepEqual(Object.getOwnPropertyDescriptor(sets, name)?.value, []);
});

test('the version changes with the sets and not with their order', async () => {
  const one = await loadSourceSets(['country:LI', 'asn:13335']);
  const same = await loadSourceSets(['asn:13335', 'country:LI', 'asn:13335']);
  const other = await loadSourceSets(['country:LI']);
  assert.equal(one.version, same.version);
  assert.notEqual(one.version, other.version);
  assert.match(one.version, /^[0-9.]+-[0-9a-f]{16}$/);
});

test('known addresses lie in their sets', async () => {
  const { sets } = await loadSourceSets(['asn:13335', 'asn:15169']);
  assert.ok(sets['asn:13335']?.includes('1.1.1.0/24'));
  assert.ok(sets['asn:15169']?.includes('8.8.8.0/24'));
});

test('concurrent loads read each set once and let timers run', async () => {
  await prepareSourceSets();
  let ticks = 0;
  const timer = setInterval(() => {
    ticks += 1;
  }, 1);
  const [a, b] = await Promise.all([
    loadSourceSets(['country:CH']),
    loadSourceSets(['country:CH']),
  ]);
  clearInterval(timer);
  assert.equal(a.sets['country:CH'], b.sets['country:CH']);
  assert.ok(ticks > 10, `${ticks}`);
});
