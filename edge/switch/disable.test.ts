import assert from 'node:assert/strict';
import { test } from 'node:test';
import { removeUntilAbsent } from './disable.ts';

/** A table that somebody puts back so often, some looks after it was removed. */
function kernel(comesBack: number) {
  const seen = { removed: 0, looks: 0 };
  let [left, there] = [comesBack, false];
  return {
    seen,
    driver: {
      remove: async () => {
        seen.removed++;
        there = false;
      },
      present: async () => {
        seen.looks++;
        if (!there && left > 0 && seen.looks % 3 === 0) {
          left--;
          there = true;
        }
        return there;
      },
    },
  };
}

const atOnce = async (): Promise<void> => {};

test('what is removed and stays away is off', async () => {
  const { driver, seen } = kernel(0);
  assert.equal(await removeUntilAbsent(driver, atOnce), true);
  assert.equal(seen.removed, 0);
});

test('what an agent in the middle of a write puts back once is removed once more', async () => {
  const { driver, seen } = kernel(1);
  assert.equal(await removeUntilAbsent(driver, atOnce), true);
  assert.equal(seen.removed, 1);
});

test('nobody is told that it is off while somebody puts it back every time', async () => {
  const { driver } = kernel(Infinity);
  assert.equal(await removeUntilAbsent(driver, atOnce), false);
});
