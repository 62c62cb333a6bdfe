import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filterOfEgg } from './of-egg.ts';

test('takes the filter that an egg names, for the transport that it filters', () => {
  const egg = { name: 'Modded', filters: ['mumble', 'source'] } as const;
  assert.equal(filterOfEgg(egg, 'udp'), 'mumble');
  assert.equal(filterOfEgg({ ...egg, filters: ['source'] }, 'tcp'), 'tcp-syn-proxy');
});

test('knows the games of the community’s eggs by their names', () => {
  const named = (name: string, transport: 'tcp' | 'udp') =>
    filterOfEgg({ name, filters: [] }, transport);
  assert.equal(named('Paper', 'tcp'), 'minecraft-java');
  assert.equal(named('Vanilla Minecraft', 'udp'), 'udp-stateful');
  assert.equal(named('Vanilla Bedrock', 'udp'), 'minecraft-bedrock');
  assert.equal(named('Rust Autowipe', 'udp'), 'rust');
  assert.equal(named('Counter-Strike: Source', 'udp'), 'source');
  assert.equal(named('Garrys Mod', 'udp'), 'source');
  assert.equal(named('Trust', 'udp'), 'udp-stateful');
});
