import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { exceedsAfterSeconds, FLOOD_SECONDS, secondsOf, THRESHOLDS } from './attack.ts';
import { drawAttack, DRAWN_ATTACKS, drawAttacks } from './draw.ts';
import { ATTACKS, attacksOf } from './table.ts';

const SEEDS = Array.from({ length: 500 }, (_, seed) => seed);

describe('the attacks that mitigations are measured by', () => {
  it('have names of their own, and send something', () => {
    assert.equal(new Set(ATTACKS.map(({ name }) => name)).size, ATTACKS.length);
    assert.ok(ATTACKS.length >= 60);
    for (const attack of ATTACKS) assert.ok(secondsOf(attack) >= FLOOD_SECONDS, attack.name);
  });

  it('exceed a threshold if they have a record, and do not otherwise', () => {
    for (const { name, type, vectors, crowd } of ATTACKS) {
      if (crowd !== undefined) continue;
      const exceeds = vectors.some((vector) => exceedsAfterSeconds(vector) !== null);
      assert.equal(exceeds, type !== null, name);
    }
  });

  it('are chosen by words of their names, and by their family', () => {
    const named = (family: 4 | 6, ...words: readonly string[]): string[] =>
      attacksOf(family, words).map(({ name }) => name);
    assert.deepEqual(named(4, 'SYN to 80'), ['SYN to 80']);
    assert.deepEqual(named(4, 'neighbour'), []);
    assert.deepEqual(named(6, 'neighbour'), ['neighbour solicitation']);
    assert.equal(named(4, 'forged players', 'sources').length > 4, true);
    assert.ok(attacksOf(6).length > attacksOf(4).length);
  });
});

describe('a vector', () => {
  it('that ramps exceeds a threshold when its rate has', () => {
    const ramp = { kind: 'udp', fromPps: 0, pps: 8_000, seconds: 18 } as const;
    assert.equal(exceedsAfterSeconds(ramp), 4.5);
    assert.equal(exceedsAfterSeconds({ ...ramp, pps: THRESHOLDS.pps }), null);
    assert.equal(exceedsAfterSeconds({ kind: 'udp' }), 0);
  });
});

describe('drawn attacks', () => {
  it('are the same for the same seed, and differ between seeds', () => {
    assert.deepEqual(drawAttacks(7), drawAttacks(7));
    assert.deepEqual(drawAttacks(7)[3], drawAttack(10));
    assert.equal(drawAttacks(7).length, DRAWN_ATTACKS);
    assert.ok(new Set(SEEDS.map((seed) => drawAttack(seed).name.split(': ')[1])).size > 400);
  });

  it('are of every kind and course, each above a threshold, and no more than a small machine sends', () => {
    const drawn = SEEDS.map(drawAttack);
    const kinds = new Set(drawn.flatMap(({ vectors }) => vectors.map(({ kind }) => kind)));
    assert.equal(kinds.size, 12);
    assert.ok(drawn.some(({ vectors }) => vectors.length === 3));
    assert.ok(drawn.some(({ over }) => over === 'prefix'));
    assert.ok(drawn.some(({ vectors }) => typeof vectors[0]?.sources === 'object'));
    for (const attack of drawn) {
      const { name, vectors } = attack;
      assert.ok(vectors.length > 0 && secondsOf(attack) <= 15, name);
      assert.ok(
        vectors.every((vector) => exceedsAfterSeconds(vector) !== null),
        name,
      );
      const together = vectors.reduce((sum, { pps = 0 }) => sum + pps, 0);
      assert.ok(together <= 27_000, `${name}: ${together}`);
    }
  });
});
