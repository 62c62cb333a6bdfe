import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG_VARIABLE, type NodeConfig, readConfig } from './config.ts';

const CONFIG: NodeConfig = {
  name: 'node-1',
  linkPath: '/run/portcullis/nodes.sock',
  credential: 'secret',
  stateDir: '/var/lib/portcullis/node',
  engine: 'docker',
  dockerHost: 'unix:///var/run/docker.sock',
  onStop: 'end',
};
const read = (value: unknown) => readConfig({ [CONFIG_VARIABLE]: JSON.stringify(value) });

test('a whole configuration is taken as it is, without what it does not know', () => {
  assert.deepEqual(read({ ...CONFIG, colour: 'red' }), CONFIG);
});

test('what is missing or wrong is named, and never its value: the credential is a secret', () => {
  assert.throws(() => readConfig({}), /PORTCULLIS_NODE_CONFIG/);
  for (const name of Object.keys(CONFIG).filter((one) => one !== 'onStop')) {
    assert.throws(
      () => read({ ...CONFIG, [name]: '' }),
      (error: Error) => {
        assert.doesNotMatch(error.message, /secret/);
        return name === 'engine' || error.message.includes(name);
      },
    );
  }
  assert.throws(() => read({ ...CONFIG, engine: 'podman' }), /docker or process/);
  assert.throws(() => read(7), /object/);
});
