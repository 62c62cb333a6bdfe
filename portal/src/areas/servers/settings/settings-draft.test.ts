import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countChanges, draftOf, patchOf, type Settings } from './settings-draft.ts';

const INPUT = {
  kind: 'text',
  choices: [],
  on: null,
  off: null,
  whole: false,
  least: null,
  most: 100,
};
const variable = (env: string, standard: string, value: string) => ({
  env,
  name: env,
  description: '',
  default: standard,
  rules: [],
  input: INPUT,
  value,
});
const SETTINGS: Settings = {
  name: 'Survival',
  egg: { name: 'eggs/flying-squid.json', title: 'Minecraft' },
  image: { used: 'main', chosen: null, labels: ['main', 'other'] },
  start_with_host: 'as_before',
  stop_seconds: null,
  stop_seconds_of_egg: 60,
  crashes: { restart: true, within_seconds: 60, tries: 1 },
  variables: [variable('MOTD', 'Hello', 'Come in'), variable('MAP', 'lake', 'lake')],
  fixed: [],
};

test('what was not changed is not sent', () => {
  assert.deepEqual(patchOf(SETTINGS, draftOf(SETTINGS)), {});
  assert.deepEqual(patchOf(SETTINGS, { ...draftOf(SETTINGS), name: ' Survival ' }), {});
});

test('what was changed is sent alone, and null for what has its default again', () => {
  const draft = draftOf(SETTINGS);
  const patch = patchOf(SETTINGS, {
    ...draft,
    image: 'other',
    start_with_host: 'always',
    stop_seconds: 90,
    crashes: { ...draft.crashes, restart: false, tries: 3 },
    variables: { MOTD: 'Hello', MAP: 'lake' },
  });
  assert.deepEqual(patch, {
    image: 'other',
    start_with_host: 'always',
    stop_seconds: 90,
    crashes: { restart: false, tries: 3 },
    variables: { MOTD: null },
  });
  assert.equal(countChanges(patch), 6);
  const set = { ...SETTINGS, stop_seconds: 90, image: { ...SETTINGS.image, chosen: 'other' } };
  assert.deepEqual(patchOf(set, { ...draftOf(set), stop_seconds: '', image: null }), {
    image: null,
    stop_seconds: null,
  });
});
