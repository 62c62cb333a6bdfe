import assert from 'node:assert/strict';
import { it } from 'node:test';
import { filesMessages } from './files.ts';
import { groupEditorMessages } from './group-editor.ts';
import { messages } from './index.ts';
import { operatorDeclaredMessages } from './operator-declared.ts';
import { operatorMessages } from './operator.ts';
import { sftpMessages } from './sftp.ts';
import { webhookMessages } from './webhooks.ts';

it('counts one thing in the singular, and many with separators', () => {
  const { servers, addresses, attacks, drops } = messages;
  assert.equal(servers.shown(1, 1), '1 server');
  assert.equal(servers.shown(0, 1), '0 of 1 server');
  assert.equal(addresses.shown(2, 12_000), '2 of 12,000 addresses');
  assert.equal(attacks.shown(1, 1), '1 attack');
  assert.equal(drops.sum(1, '60 B').split(',')[0], '1 packet');
});

/** Words outside plain English: words of ours that a reader took for mistakes. */
const JARGON = /\bAct(ing)? for\b|Need a look|By what is|\bstands?\b|It became|\bgoes from\b/i;

it('says nothing in words that only its makers understand', () => {
  const found: string[] = [];
  const walk = (value: unknown, path: string): void => {
    if (typeof value === 'object' && value !== null) {
      for (const [name, each] of Object.entries(value)) walk(each, `${path}.${name}`);
    } else if (JARGON.test(String(value))) {
      found.push(`${path}: ${value}`);
    }
  };
  walk(
    {
      ...messages,
      ...webhookMessages,
      ...groupEditorMessages,
      files: filesMessages,
      sftp: sftpMessages,
      operator: operatorMessages,
      declared: operatorDeclaredMessages,
    },
    'messages',
  );
  assert.deepEqual(found, []);
});
