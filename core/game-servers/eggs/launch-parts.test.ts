import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UNLIMITED } from '../power.ts';
import { launchParts } from './launch-parts.ts';

const EGG = {
  startup: './game',
  images: [
    { label: 'first', reference: 'game:1', local: true },
    { label: 'second', reference: 'game:2', local: true },
  ],
  variables: [
    {
      name: 'Map',
      description: '',
      env: 'MAP',
      defaultValue: 'lake',
      rules: [],
      viewable: true,
      editable: true,
    },
  ],
};
const SERVER = {
  egg: 'a',
  image: null,
  variables: {},
  limits: { ...UNLIMITED, memory: 512, cpu: 100, disk: 1024 },
  dockerImage: null,
  startup: null,
  mounts: [],
  allocation: { ip: '192.0.2.1', port: 1 },
  ports: [{ ip: '192.0.2.1', port: 1, protocols: ['tcp'], variable: null, name: 'game' }],
} as const;

type Parts = ReturnType<typeof launchParts>;
const differing = (a: Parts, b: Parts): string[] =>
  Object.keys({ ...a, ...b }).filter((part) => a[part] !== b[part]);

test('the parts of a launch differ where its instance would, and nowhere else', () => {
  const parts = launchParts(EGG, SERVER);
  const changed = (changes: object) =>
    differing(parts, launchParts(EGG, { ...SERVER, ...changes }));
  assert.deepEqual(changed({ image: 'first', variables: { MAP: 'lake', GONE: 'x' } }), []);
  assert.deepEqual(changed({ image: 'second' }), ['/image']);
  assert.deepEqual(changed({ variables: { MAP: 'hill' } }), ['/variables/MAP']);
  assert.deepEqual(changed({ limits: { ...SERVER.limits, disk: 1 } }), []);
  const { memory, ...limits } = SERVER.limits;
  assert.deepEqual(changed({ limits: { ...limits, disk: 1, entries: 9, memory } }), []);
  assert.deepEqual(changed({ dockerImage: 'game:9' }), ['/image']);
  assert.deepEqual(changed({ startup: './other' }), ['/startup']);
  const mount = { source: '/srv', target: '/maps', readOnly: true };
  assert.deepEqual(changed({ mounts: [mount] }), ['/mounts']);
  assert.deepEqual(changed({ limits: { ...SERVER.limits, swap: -1 } }), ['/limits']);
  const [port] = SERVER.ports;
  const other = { name: 'game', variable: null, protocols: ['tcp'], port: 1, ip: '192.0.2.1' };
  assert.deepEqual(changed({ ports: [other] }), []);
  assert.deepEqual(changed({ ports: [{ ...port, variable: 'PORT' }] }), ['/ports']);
  assert.deepEqual(changed({ egg: 'b' }), ['/egg']);
});
