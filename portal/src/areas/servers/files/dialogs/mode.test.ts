import assert from 'node:assert/strict';
import { it } from 'node:test';
import { bitOf, checkBit, isOctal, lettersOf, modeChanges, modeDraft, typeOctal } from './mode.ts';

const entry = (path: string, mode: string) => ({ path, mode });

it('has digits and boxes say the same, whichever of them is changed', () => {
  const draft = modeDraft([entry('a', '644')]);
  assert.deepEqual(draft, { octal: '644', bits: 0o644, kept: 0 });
  assert.equal(checkBit(draft, bitOf('owner', 'execute'), true).octal, '744');
  assert.equal(checkBit(draft, bitOf('others', 'read'), false).octal, '640');
  assert.equal(typeOctal(draft, '0755').bits, 0o755);
  // What is not typed to its end leaves the boxes as they are.
  assert.deepEqual(typeOctal(draft, '75'), { octal: '75', bits: 0o644, kept: 0 });
});

it('keeps the bits in which several differ, until a box or digits say otherwise', () => {
  const entries = [entry('a.sh', '755'), entry('b.txt', '644')];
  const draft = modeDraft(entries);
  assert.deepEqual(draft, { octal: '', bits: 0o644, kept: 0o111 });
  assert.deepEqual(modeChanges(entries, draft), []);
  const closed = checkBit(draft, bitOf('others', 'read'), false);
  assert.deepEqual(modeChanges(entries, closed), [
    { path: 'a.sh', mode: '751', before: '755' },
    { path: 'b.txt', mode: '640', before: '644' },
  ]);
  assert.deepEqual(modeChanges(entries, typeOctal(draft, '755')), [
    { path: 'b.txt', mode: '755', before: '644' },
  ]);
});

it('leaves set-user-id and the like out, and refuses them where they are typed', () => {
  assert.equal(lettersOf(entry('a', '4755')), 'rwxr-xr-x');
  assert.deepEqual(modeChanges([entry('a', '4755')], modeDraft([entry('a', '755')])), []);
  for (const typed of ['4755', '888', '64', '', 'rwx']) assert.ok(!isOctal(typed));
});
