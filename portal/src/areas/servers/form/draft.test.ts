import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  describeInput,
  type Egg,
  type EggVariable,
  EMPTY,
  hostOf,
  serverInput,
  variablesPatch,
} from './draft.ts';

const HOST = { node: 'local', ok: true, reason: null, commands: [], image: null };
const INPUT: EggVariable['input'] = {
  kind: 'text',
  choices: [],
  on: null,
  off: null,
  whole: false,
  least: null,
  most: null,
};
const SHOWN = { description: '', viewable: true, editable: true, input: INPUT };
const EGG: Egg = {
  name: 'eggs/flying-squid.json',
  title: 'Minecraft',
  description: '',
  images: ['main'],
  variables: [
    {
      ...SHOWN,
      env: 'MOTD',
      name: 'Message of the day',
      default: 'Hello',
      rules: ['required', 'string', 'max:100'],
    },
    {
      ...SHOWN,
      env: 'MAX_PLAYERS',
      name: 'Players',
      default: '20',
      rules: ['integer', 'between:1,200'],
    },
  ],
  hosts: [],
};

test('the host shown is one that runs the egg, else one that can make its image, else any', () => {
  const off = { ...HOST, node: 'a', ok: false, reason: 'no Docker' };
  const unmade = { ...off, node: 'b', image: 'flying-squid' };
  assert.equal(hostOf({ hosts: [off, unmade, HOST] }, null)?.node, 'local');
  assert.equal(hostOf({ hosts: [off, unmade] }, null)?.node, 'b');
  assert.equal(hostOf({ hosts: [off, unmade] }, 'a')?.node, 'a');
  assert.equal(hostOf({ hosts: [] }, null), null);
});

test('a server is sent with what was typed, and without what is the default or free', () => {
  const draft = {
    ...EMPTY,
    name: ' Survival ',
    egg: EGG.name,
    service: '1',
    variables: { MOTD: 'Hello', MAX_PLAYERS: '8', OF_ANOTHER_EGG: 'x' },
  };
  const sent = serverInput('default', draft, { egg: EGG, document: null });
  assert.deepEqual(sent, {
    organisation: 'default',
    service: 1,
    name: 'Survival',
    egg: EGG.name,
    node: null,
    image: null,
    variables: { MAX_PLAYERS: '8' },
    limits: {
      memory: 1_024,
      cpu: 100,
      disk: 2_048,
      swap: 0,
      io: 500,
      entries: 0,
      ports: 0,
      cores: null,
      oom: true,
    },
    open_while_running: true,
  });
  const placed = { ...draft, address: '192.0.2.1', port: 25_565 };
  assert.deepEqual(serverInput('default', placed, { egg: EGG, document: null }).allocations, [
    { ip: '192.0.2.1', port: 25_565 },
  ]);
  const document = { name: 'Own' };
  const own = serverInput('default', { ...draft, egg: 'own' }, { egg: EGG, document });
  assert.equal(own.egg, undefined);
  assert.equal(own.egg_document, document);
});

test('a change names every variable: null where it has its default again', () => {
  const typed = { MOTD: 'Hello', MAX_PLAYERS: '8', OF_ANOTHER_EGG: 'x' };
  assert.deepEqual(variablesPatch(EGG.variables, typed), { MOTD: null, MAX_PLAYERS: '8' });
});

test('an input says in words what it takes beyond its form', () => {
  const words = (input: Partial<EggVariable['input']>) =>
    describeInput({ input: { ...INPUT, ...input } });
  assert.equal(words({ most: 100 }), 'at most 100 characters');
  const number = { kind: 'number', whole: true } as const;
  assert.equal(words({ ...number, least: 1, most: 200 }), 'a whole number, from 1 to 200');
  assert.equal(words({ ...number, whole: false, most: 5 }), 'a number, at most 5');
  assert.equal(words({ ...number, least: 2 }), 'a whole number, at least 2');
  assert.equal(words({ kind: 'choice', choices: ['a', 'b'] }), '');
  assert.equal(words({}), '');
});
