/** A line of a difference between two texts. */
export interface DifferentLine {
  /** ` `: in both; `-`: only before; `+`: only after; `…`: lines that are the same are left out here. */
  readonly sign: ' ' | '-' | '+' | '…';
  readonly text: string;
}

/** Lines around a change that are shown. */
const CONTEXT = 3;
/** Cells of the table: two texts of 1,000 different lines each. Beyond it all lines are shown as changed. */
const MOST_CELLS = 1_000_000;

/** The difference between two texts by lines, with the longest common part kept. */
export function differenceOfTexts(before: string, after: string): DifferentLine[] {
  const [was, is] = [linesOf(before), linesOf(after)];
  const head = commonStart(was, is);
  const tail = commonStart(was.slice(head).toReversed(), is.slice(head).toReversed());
  const same = (text: string): DifferentLine => ({ sign: ' ', text });
  const middle = compare(was.slice(head, was.length - tail), is.slice(head, is.length - tail));
  const all = [
    ...was.slice(0, head).map(same),
    ...middle,
    ...was.slice(was.length - tail).map(same),
  ];
  return withoutFar(all);
}

function linesOf(text: string): readonly string[] {
  return text === '' ? [] : text.split('\n');
}

function commonStart(one: readonly string[], other: readonly string[]): number {
  const most = Math.min(one.length, other.length);
  let count = 0;
  while (count < most && one[count] === other[count]) count += 1;
  return count;
}

function compare(was: readonly string[], is: readonly string[]): DifferentLine[] {
  const removed = (text: string): DifferentLine => ({ sign: '-', text });
  const added = (text: string): DifferentLine => ({ sign: '+', text });
  if (was.length * is.length > MOST_CELLS) return [...was.map(removed), ...is.map(added)];
  const lengths = commonLengths(was, is);
  const found: DifferentLine[] = [];
  let [a, b] = [0, 0];
  while (a < was.length || b < is.length) {
    const [old = '', fresh = ''] = [was[a], is[b]];
    if (a < was.length && b < is.length && old === fresh) {
      found.push({ sign: ' ', text: old });
      [a, b] = [a + 1, b + 1];
    } else if (a < was.length && at(lengths, a + 1, b) >= at(lengths, a, b + 1)) {
      found.push(removed(old));
      a += 1;
    } else {
      found.push(added(fresh));
      b += 1;
    }
  }
  return found;
}

/** The length of the longest common part of what follows each pair of lines. */
function commonLengths(was: readonly string[], is: readonly string[]): readonly Uint32Array[] {
  const rows = Array.from({ length: was.length + 1 }, () => new Uint32Array(is.length + 1));
  for (let a = was.length - 1; a >= 0; a -= 1) {
    for (let b = is.length - 1; b >= 0; b -= 1) {
      const longest = Math.max(at(rows, a + 1, b), at(rows, a, b + 1));
      const row = rows[a];
      if (row) row[b] = was[a] === is[b] ? at(rows, a + 1, b + 1) + 1 : longest;
    }
  }
  return rows;
}

function at(rows: readonly Uint32Array[], a: number, b: number): number {
  return rows[a]?.[b] ?? 0;
}

/** Leaves out equal lines that are far from every change. */
function withoutFar(lines: readonly DifferentLine[]): DifferentLine[] {
  const isNear = lines.map((_, index) =>
    lines.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some(({ sign }) => sign !== ' '),
  );
  return lines.flatMap((line, index) => {
    if (isNear[index] === true) return [line];
    return isNear[index - 1] === true || index === 0 ? [{ sign: '…' as const, text: '' }] : [];
  });
}
