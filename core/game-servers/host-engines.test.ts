import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DockerStatus, engineOf, evaluateImage, type HostEngines } from './host-engines.ts';

const HEARTH = { reference: 'portcullis/hearth', local: true };
const MINECRAFT = { reference: 'portcullis/flying-squid', local: true };
const PULLED = { reference: 'ghcr.io/games/paper:java_21', local: false };
const ANSWERS: DockerStatus = { version: '27.1', lack: null };
const IMAGE = {
  name: 'flying-squid',
  reference: 'portcullis/flying-squid',
  state: 'missing',
  step: null,
  percent: null,
  problem: null,
} as const;

function host(changes: Partial<HostEngines> = {}): HostEngines {
  return { docker: ANSWERS, programs: ['portcullis/hearth'], images: [IMAGE], ...changes };
}

test('a program of Portcullis runs as a process, everything else in Docker', () => {
  const { programs } = host();
  assert.deepEqual(
    [HEARTH, MINECRAFT, PULLED].map(({ reference }) => engineOf(reference, programs)),
    ['process', 'docker', 'docker'],
  );
  assert.equal(engineOf('portcullis/hearth', []), 'docker');
});

test('whatever Docker lacks, its programs run, and everything else says what to do in commands', () => {
  for (const lack of ['absent', 'stopped', 'forbidden', 'silent'] as const) {
    const without = host({ docker: { version: null, lack } });
    assert.deepEqual(evaluateImage(HEARTH, without), { ok: true });
    for (const image of [MINECRAFT, PULLED]) {
      const refused = evaluateImage(image, without);
      assert.ok(!refused.ok && refused.commands.length > 0, lack);
      assert.match(refused.reason, /^It runs in Docker, which .*\.$/);
    }
  }
  assert.equal(evaluateImage(PULLED, host({ docker: null })).ok, false);
});

test('a local image must be made first; one that is pulled needs only Docker', () => {
  assert.deepEqual(evaluateImage(PULLED, host()), { ok: true });
  const missing = evaluateImage(MINECRAFT, host());
  assert.partialDeepStrictEqual(missing, {
    ok: false,
    image: 'flying-squid',
    commands: ['portcullis images flying-squid'],
  });
  const of = (changes: object) =>
    evaluateImage(MINECRAFT, host({ images: [{ ...IMAGE, ...changes }] }));
  assert.deepEqual(of({ state: 'ready' }), { ok: true });
  assert.partialDeepStrictEqual(of({ state: 'building', step: 'Packing', percent: 60 }), {
    ok: false,
    reason: 'Its image is being made: Packing.',
    commands: [],
  });
  assert.partialDeepStrictEqual(of({ state: 'failed', problem: 'npm is not installed.' }), {
    ok: false,
    reason: 'Its image could not be made: npm is not installed.',
  });
  const own = evaluateImage({ reference: 'mine/own', local: true }, host());
  assert.partialDeepStrictEqual(own, { ok: false, image: null });
});
