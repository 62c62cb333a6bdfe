import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { diff } from 'node:util';
import { goldenCases, HOST, layout, PREFIXES } from './golden/cases.ts';
import { renderDelta, renderWhole } from './table/render.ts';

const FOLDER = join(import.meta.dirname, 'golden');
const CASES = goldenCases();

/** To accept the rendered text, read the difference, then: PORTCULLIS_GOLDEN=write. */
function assertGolden(name: string, text: string): void {
  const path = join(FOLDER, `${name}.nft`);
  if (process.env['PORTCULLIS_GOLDEN'] === 'write') writeFileSync(path, text);
  assert.equal(text, readFileSync(path, 'utf8'));
}

/** Without empty lines, and with each block of one line on that line. */
function compact(text: string): string {
  return text.replace(/ \{\n\t+([^\n{}]*)\n\t*\}/g, ' { $1 }').replace(/\n{2,}/g, '\n');
}

/**
 * The lines that `text` removes (-) from `base` and adds (+). Each group starts with its block (@@) and the preceding
 * line.
 */
function difference(base: string, text: string): string {
  const lines: string[] = [];
  let [block, last, inGroup] = ['', '', false];
  for (const [operation, line] of diff(base.split('\n'), text.split('\n'))) {
    if (operation !== 0 && !inGroup) lines.push(`@@ ${block}`, `  ${last}`);
    inGroup = operation !== 0;
    // util.diff marks lines of only the first text with 1.
    if (inGroup) lines.push(`${operation === 1 ? '-' : '+'} ${line}`);
    else last = line;
    if (/^\t?\S.*\{$/.test(line)) block = line.trim();
  }
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

describe('rendered text', () => {
  for (const { name, text, baseline } of CASES) {
    it(`equals the reviewed file: ${name}`, () => {
      const base = CASES.find((one) => one.name === baseline);
      const shown = compact(text);
      assertGolden(name, base === undefined ? shown : difference(compact(base.text), shown));
    });
  }

  it('has no reviewed file without a case', () => {
    const files = readdirSync(FOLDER).filter((file) => file.endsWith('.nft'));
    assert.deepEqual(files.toSorted(), CASES.map(({ name }) => `${name}.nft`).toSorted());
  });

  it('of a delta is empty if nothing changed', () => {
    const before = layout([HOST, ...PREFIXES]);
    const { sizes } = renderWhole(before);
    const delta = renderDelta(before, layout([HOST, ...PREFIXES]), before.targets.keys(), sizes);
    assert.equal(delta?.text, '');
  });

  it('of a delta does not exist if a map exceeds its size or the stages change', () => {
    const before = layout([HOST]);
    const { sizes } = renderWhole(before);
    const many = Array.from({ length: 100 }, (_, host) => ({
      ...HOST,
      target: `203.0.113.${host}`,
    }));
    const grown = layout(many);
    assert.equal(renderDelta(before, grown, grown.targets.keys(), sizes), null);
    const others = layout([HOST], { fragments: 'limit' });
    assert.equal(renderDelta(before, others, [], sizes), null);
  });

  it('of a delta refills the device chains if only these change', () => {
    const before = layout([HOST]);
    const { sizes } = renderWhole(before);
    const delta = renderDelta(before, layout([HOST], { devices: ['wan', 'eth1'] }), [], sizes);
    assert.match(
      delta?.text ?? '',
      /^flush chain inet portcullis prerouting\nadd rule inet portcullis prerouting iifname != \{ "eth1", "wan" \} accept\n/,
    );
    assert.doesNotMatch(delta?.text ?? '', /element|judge\n(?:add|flush).* judge /);
    assert.equal(delta?.steps, null);
  });
});
