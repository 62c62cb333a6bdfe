import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Column, firstSort, nextSort, searchRows, sortRows } from './columns.ts';

type Row = readonly [name: string, count: number];
const COLUMNS: readonly Column<Row>[] = [
  { title: 'Name', sortsFirst: 'ascending', cell: ([name]) => name, sortBy: ([name]) => name },
  { title: 'Count', cell: ([, count]) => count, sortBy: ([, count]) => count },
  { title: 'Actions', cell: () => null },
];
const ROWS: readonly Row[] = [
  ['Lobby', 2],
  ['arena', Infinity],
  ['Survival', 2],
];
const names = (rows: readonly Row[]) => rows.map(([name]) => name);

describe('the rows of a table', () => {
  it('are sorted by a column, those of equal value in their order', () => {
    const sorted = (by: string, isDescending: boolean) =>
      names(sortRows(ROWS, COLUMNS, { by, isDescending }));
    assert.deepEqual(sorted('Name', false), ['arena', 'Lobby', 'Survival']);
    assert.deepEqual(sorted('Count', true), ['arena', 'Lobby', 'Survival']);
    assert.deepEqual(sorted('Count', false), ['Lobby', 'Survival', 'arena']);
    assert.deepEqual(sorted('Actions', true), names(ROWS));
  });

  it('begin as the first column says, and turn with each click', () => {
    const first = firstSort(COLUMNS) ?? assert.fail();
    assert.deepEqual(first, { by: 'Name', isDescending: false });
    const byCount = nextSort(COLUMNS, first, 'Count');
    assert.deepEqual(byCount, { by: 'Count', isDescending: true });
    assert.equal(nextSort(COLUMNS, byCount, 'Count').isDescending, false);
    assert.deepEqual(nextSort(COLUMNS, byCount, 'Name'), first);
  });

  it('are found by every word that is a part of a field', () => {
    const find = (typed: string) =>
      names(searchRows(ROWS, typed, ([name, count]) => [name, String(count)]));
    assert.deepEqual(find(' LO'), ['Lobby']);
    assert.deepEqual(find('2'), ['Lobby', 'Survival']);
    assert.deepEqual(find('y2'), []);
    assert.deepEqual(find('2 lob'), ['Lobby']);
    assert.deepEqual(find(''), names(ROWS));
  });
});
