import assert from 'node:assert/strict';
import { test } from 'node:test';
import { removeUntilAbsent } from './disable.ts';

/** A table that another program restores this number of times, some polls after its removal. */
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

test('reports off when the table stays absent after the removal', async () => {
  const { driver, seen } = kernel(0);
  assert.equal(await removeUntilAbsent(driver, atOnce), true);
  assert.equal(seen.removed, 0);
});

test('removes the table again when an agent restores it by a pending write', async () => {
  const { driver, seen } = kernel(1);
  assert.equal(await removeUntilAbsent(driver, atOnce), true);
  assert.equal(seen.removed, 1);
});

test('never reports off while another program restores the table every time', async () => {
  const { driver } = kernel(Infinity);
  assert.equal(await removeUntilAbsent(driver, atOnce), false);
});
