import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { loadEggs, NO_EGG_SOURCE } from './egg-files.ts';

const EGG = {
  meta: { version: 'PLCN_v3' },
  name: 'Paper',
  docker_images: { 'Java 21': 'ghcr.io/pelican-eggs/yolks:java_21' },
  startup_commands: { Default: 'java -jar {{SERVER_JARFILE}}' },
  config: {
    files: {
      'server.properties': {
        parser: 'properties',
        find: { 'server-port': '{{server.allocations.default.port}}' },
      },
    },
    startup: { done: ')! For help, type ' },
    stop: 'stop',
  },
  scripts: {
    installation: { script: '#!/bin/ash\n\tcurl x\n', container: 'alpine:3', entrypoint: 'ash' },
  },
  variables: [
    {
      name: 'Jar',
      env_variable: 'SERVER_JARFILE',
      default_value: 'server.jar',
      rules: ['required', 'string'],
    },
  ],
};

test('an egg in YAML is the same egg as in JSON', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-eggs-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const files = {
    'egg.json': JSON.stringify(EGG),
    'egg.yaml': stringify(EGG),
    'anchors.yaml': 'a: &a [1]\nb: [*a, *a]\n',
    'deep.yaml': `a: ${'['.repeat(100)}`,
    'text.yaml': 'a: b: c\n',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const eggs = await loadEggs(Object.keys(files), join(folder, 'fleet.yaml'), NO_EGG_SOURCE);
  const json = eggs.get('egg.json');
  assert.ok(json?.ok, JSON.stringify(json));
  assert.deepEqual(eggs.get('egg.yaml'), json);
  const reason = (name: string): string => {
    const egg = eggs.get(name);
    return egg === undefined || egg.ok ? '' : egg.reason;
  };
  assert.match(reason('anchors.yaml'), /anchors/);
  assert.match(reason('deep.yaml'), /levels deep/);
  assert.match(reason('text.yaml'), /neither JSON nor YAML/);
});

test('a path that names another file of the host prints nothing of it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-eggs-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const secret = 'hunter2';
  const files = {
    shadow: `root:$6$${secret}:19000:0:99999:7:::\n`,
    'key.pem': `-----BEGIN KEY-----\n${secret}\n-----END KEY-----\n`,
    'config.json': JSON.stringify({ password: secret, meta: { version: secret } }),
    'broken.json': `{"password": ${secret}}`,
    'truncated.json': `{\n"password": "${secret}`,
    'list.json': JSON.stringify([secret]),
    'config.yaml': `password: ${secret}\n`,
    'broken.yaml': `a: *${secret}\nb: ${secret}: c\n`,
    'unknown.yaml': `%${secret}\n---\n!${secret} x\n`,
    env: `PASSWORD=${secret}\n\t${secret}`,
    'version.json': JSON.stringify({ meta: { version: 'PTDL_v2' }, name: 5 }),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const eggs = await loadEggs(Object.keys(files), join(folder, 'fleet.yaml'), NO_EGG_SOURCE);
  for (const [name, egg] of eggs) {
    assert.ok(!egg.ok, name);
    assert.equal(egg.reason.includes(secret), false, egg.reason);
  }
  const reason = (name: string) => JSON.stringify(eggs.get(name));
  assert.match(reason('truncated.json'), /neither JSON nor YAML \(line 2: /);
  assert.match(reason('config.yaml'), /meta\.version/);
  // What is an egg is quoted, because its author needs it.
  assert.match(reason('version.json'), /name/);
});
