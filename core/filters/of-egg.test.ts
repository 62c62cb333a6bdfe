import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filterOfEgg } from './of-egg.ts';

test('takes the filter that an egg names, for the transport that it filters', () => {
  const egg = { name: 'Modded', filters: ['openttd', 'source'] } as const;
  assert.equal(filterOfEgg(egg, 'udp'), 'source');
  assert.equal(filterOfEgg(egg, 'tcp'), 'openttd');
  assert.equal(filterOfEgg({ ...egg, filters: ['source'] }, 'tcp'), 'tcp-syn-proxy');
});

test('knows the games of the community’s eggs by their names', () => {
  const named = (name: string, transport: 'tcp' | 'udp') =>
    filterOfEgg({ name, filters: [] }, transport);
  assert.equal(named('Paper', 'tcp'), 'minecraft-java');
  assert.equal(named('Vanilla Minecraft', 'udp'), 'udp-stateful');
  assert.equal(named('Vanilla Bedrock', 'udp'), 'minecraft-bedrock');
  assert.equal(named('Counter-Strike: Source', 'udp'), 'source');
  assert.equal(named('Garrys Mod', 'udp'), 'source');
  assert.equal(named('Rust Oxide', 'udp'), 'rust');
  assert.equal(named('SA-MP', 'udp'), 'samp');
  assert.equal(named('Teamspeak3 Server', 'udp'), 'teamspeak3');
  assert.equal(named('Mumble', 'tcp'), 'mumble');
  assert.equal(named('Unknown', 'udp'), 'udp-stateful');
});
