import assert from 'node:assert/strict';
import { it } from 'node:test';
import { toCsv } from './download.ts';

it('writes text that a spreadsheet would run as a formula with an apostrophe, and numbers as they are', () => {
  const rows = [
    ['=HYPERLINK("http://evil")', '+1', '-1', '@SUM(A1)', '\tx', '\rx', 'plain'],
    [-1, 1.5, null, 'a,b', 'a "b"', 'a\nb', '＝1'],
  ];
  assert.equal(
    toCsv(['a', '=b'], rows),
    `a,'=b\r\n"'=HYPERLINK(""http://evil"")",'+1,'-1,'@SUM(A1),'\tx,"'\rx",plain\r\n-1,1.5,,"a,b","a ""b""","a\nb",'＝1\r\n`,
  );
});
