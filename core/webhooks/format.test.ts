import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chatBody, describeHappening, webhookFormat } from './format.ts';

const ATTACK = { attack_type: 'udp_flood', peak_bps: 900_000_000, peak_pps: 1_200_000 };
const base = { target: '203.0.113.10', organisation: 'acme' };

test('knows Discord and Slack by the URL, and nobody else', () => {
  assert.equal(webhookFormat('https://discord.com/api/webhooks/1/abc'), 'discord');
  assert.equal(webhookFormat('https://ptb.discord.com/api/webhooks/1/abc'), 'discord');
  assert.equal(webhookFormat('https://hooks.slack.com/services/T0/B0/x'), 'slack');
  for (const url of [
    'https://discord.com/channels/1',
    'https://discord.com.example.net/api/webhooks/1/abc',
    'https://example.net/discord.com/api/webhooks/',
    'https://slack.com/services/T0',
    'no url',
  ]) {
    assert.equal(webhookFormat(url), 'standard', url);
  }
});

test('says in a sentence what happened, where and to whom', () => {
  const opened = describeHappening({ ...base, kind: 'attack.opened', data: ATTACK });
  assert.match(opened, /^UDP flood on 203\.0\.113\.10 began, at most 900\S* Mbps and 1\.20 Mpps/);
  assert.match(opened, /\(acme\)$/);
  const crashed = { ...base, kind: 'server.crashed', data: { name: 'Survival' } };
  assert.equal(describeHappening(crashed), 'The game server Survival crashed. (acme)');
});

test('lets a name that somebody chose neither mention people nor write a link', () => {
  const happening = {
    ...base,
    kind: 'server.crashed',
    data: { name: '<!channel> @everyone [free](https://evil.example)' },
  };
  const discord = JSON.parse(chatBody('discord', happening)) as Record<string, unknown>;
  assert.deepEqual(discord['allowed_mentions'], { parse: [] });
  assert.match(String(discord['content']), /\\\[free\\\]\\\(https/);
  const slack = JSON.parse(chatBody('slack', happening)) as Record<string, unknown>;
  assert.match(String(slack['text']), /&lt;!channel&gt;/);
});
