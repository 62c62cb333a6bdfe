import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { uuidOf } from '../testing/eggs.ts';
import {
  chooseAccount,
  DEFAULT_ACCOUNTS,
  overlaps,
  parseAccounts,
  takenRanges,
  UNPRIVILEGED_ACCOUNTS,
} from './account-range.ts';

const FILES = {
  named: `root:x:0:0:root:/root:/bin/bash
ada:x:200007:200007::/home/ada:/bin/sh
broken
nobody:x:65534:65534::/:/usr/sbin/nologin`,
  subordinate: `ada:165536:65536
eve:300000:1000
empty:400000:0
broken:x:y`,
};

it('reads ranges, and refuses those that belong to the system or to nobody', () => {
  assert.deepEqual(parseAccounts('200000-265535'), { first: 200_000, last: 265_535 });
  for (const wrong of [
    '',
    '200000',
    '1-2-3',
    '-1-5',
    '200000-100',
    '0-500',
    '60000-70000',
    '65534-65534',
    '2147483000-4294967294',
    '200000 - 300000',
  ])
    assert.throws(() => parseAccounts(wrong), Error, wrong);
});

it('gives each process without rights an account of its own, which no server has', () => {
  const accounts = Object.values(UNPRIVILEGED_ACCOUNTS);
  assert.equal(new Set(accounts).size, accounts.length);
  for (const account of accounts)
    assert.throws(() => parseAccounts(`${account}-${account}`), /belong to the system/);
});

it('takes no account that the host names or hands out as a subordinate one', () => {
  assert.deepEqual(takenRanges(FILES), [
    { first: 0, last: 0 },
    { first: 200_007, last: 200_007 },
    { first: 65_534, last: 65_534 },
    { first: 165_536, last: 231_071 },
    { first: 300_000, last: 300_999 },
  ]);
});

it('gives every server an account that no other server, person or container has, until none is left', () => {
  const size = 200;
  let checked = 0;
  const within = fc.integer({ min: 0, max: size + 20 });
  const foreign = fc.tuple(within, fc.integer({ min: 0, max: 40 }));
  fc.assert(
    fc.property(fc.array(foreign, { maxLength: 5 }), (ranges) => {
      const range = { first: 200_000, last: 200_000 + size - 1 };
      const taken = ranges.map(([from, length]) => ({
        first: 199_990 + from,
        last: 199_990 + from + length,
      }));
      const used = new Set<number>();
      for (let server = 1; ; server += 1) {
        const account = chooseAccount(uuidOf(server), range, { used, taken });
        if (account === null) break;
        assert.ok(account >= range.first && account <= range.last);
        assert.ok(!taken.some((one) => overlaps(one, { first: account, last: account })));
        assert.ok(!used.has(account));
        used.add(account);
        checked += 1;
      }
      const free = Array.from({ length: size }, (_, index) => range.first + index).filter(
        (one) => !taken.some(({ first, last }) => first <= one && one <= last),
      );
      assert.equal(used.size, free.length);
    }),
    { numRuns: 50 },
  );
  assert.ok(checked > 1_000, `${checked} accounts`);
});

it('chooses by the uuid, so that a lost record mostly gives the same account again', () => {
  const nothing = { used: new Set<number>(), taken: [] };
  const choose = (number: number) => chooseAccount(uuidOf(number), DEFAULT_ACCOUNTS, nothing);
  assert.equal(choose(1), choose(1));
  assert.notEqual(choose(1), choose(2));
});
