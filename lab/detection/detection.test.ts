import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { renderPage } from './page.ts';
import { score, withinPromise } from './score.ts';
import { TRACES } from './traces.ts';

const scores = TRACES.map(score);
const easy = scores.filter(({ trace }) => trace.group !== 'hard');
const names = (some: typeof scores): string[] => some.map(({ trace }) => trace.name);

describe('the detector, on every trace but the hard ones', () => {
  it('makes one record of an attack, none of anything else, and names it', () => {
    assert.ok(TRACES.length >= 40);
    assert.deepEqual(names(easy.filter(({ wrong, missed }) => wrong + missed > 0)), []);
    assert.deepEqual(names(easy.filter(({ right, named }) => named < right)), []);
  });

  it('opens within 3 s at 1.2 times a threshold, within 1.5 s at twice, and ends within the hold time', () => {
    const counted = easy.filter(({ trace }) => !trace.group.startsWith('pulsing'));
    assert.deepEqual(names(counted.filter((one) => !withinPromise(one))), []);
  });

  it('tells peaks within 5 % of what was sent, and within their bounds where sampled', () => {
    assert.deepEqual(names(easy.filter(({ bounded }) => !bounded)), []);
  });
});

describe('docs/detection.md', () => {
  it('shows what the detector does today', () => {
    const page = readFileSync(
      join(import.meta.dirname, '..', '..', 'docs', 'detection.md'),
      'utf8',
    );
    assert.equal(page, renderPage(page, scores), 'npm run build:detection makes it anew');
  });
});
