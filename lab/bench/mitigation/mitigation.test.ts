import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { describeSetting, parseOptions, settingsOf } from './options.ts';
import { renderMitigations } from './page.ts';
import { loadJudged } from './results.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');

describe('the options of the mitigation bench', () => {
  it('choose one setting, or every combination of them', () => {
    const settings = (...args: readonly string[]): string[] =>
      settingsOf(parseOptions(args)).map(describeSetting);
    assert.deepEqual(settings(), ['xdp, IPv4, control alive']);
    assert.deepEqual(settings('--plane', 'nftables', '--family', '6', '--kill-agent'), [
      'nftables, IPv6, control alive, agent killed',
    ]);
    const all = settings('--plane', 'all', '--family', 'all', '--control', 'all');
    assert.equal(new Set(all).size, 8);
  });

  it('are refused if they are unknown', () => {
    for (const args of [['--plane', 'ebpf'], ['--seed', 'x'], ['--seed', '-1'], ['--fast']])
      assert.throws(() => parseOptions(args), args.join(' '));
  });
});

describe('docs/detection.md', () => {
  it('shows the last results of the mitigation bench', () => {
    const page = readFileSync(join(ROOT, 'docs', 'detection.md'), 'utf8');
    const made = renderMitigations(page, loadJudged(ROOT));
    assert.ok(page === made, 'npm run bench -- mitigation --docs makes it anew');
  });
});
