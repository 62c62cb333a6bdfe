import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Channel } from './db/listen.ts';
import { CHANNELS, wake } from './notifications.ts';

function wokenBy(channel: Channel): string[] {
  const woken: string[] = [];
  const note = (name: string) => () => void woken.push(name);
  wake(
    {
      access: { forget: note('access') },
      deliveries: { wake: note('deliveries') },
      events: { wake: note('events') },
      links: { notify: note('links') },
      mitigations: { wake: note('mitigations') },
      timers: { wake: note('timers') },
      detection: { wake: note('detection') },
      onRestored: note('restored'),
    },
    channel,
    '1',
  );
  return woken;
}

test('a generation, which every write takes, wakes neither detection, mitigations nor the timers of holdings', () => {
  assert.deepEqual(wokenBy('portcullis_generation'), ['links']);
});

test('changed holdings and settings wake all that depend on them', () => {
  assert.deepEqual(wokenBy('portcullis_holdings'), ['mitigations', 'timers', 'detection']);
});

test('every channel wakes something', () => {
  for (const channel of CHANNELS) assert.notEqual(wokenBy(channel).length, 0, channel);
});
