import assert from 'node:assert/strict';
import { test } from 'node:test';
import { production, withoutComments } from './sources.ts';

/** Where requests are handled. Timers and agents write in other folders, by no caller's right. */
const OF_REQUESTS =
  /^control\/(?:http|access|accounts|administration|joining|firewall|events|declared)\/|^control\/(?:game-servers|webhooks|history)\/(?:handlers|instruct|live|detail)\.ts$/;

/** Files that may open a transaction there. */
const OPENERS: Readonly<Record<string, string>> = {
  'control/http/operations/transaction.ts':
    'opens those of requests, which begin with the right of the caller',
  'control/access/held-rights.ts': 'waits for those, and writes nothing',
  'control/firewall/samples/dry-run.ts': 'a read, which rolls back',
  'control/firewall/portal/group-handlers.ts': 'a preview, which rolls back',
};

test('no handler opens a transaction past the check of its caller’s right', () => {
  const handled = production.filter((file) => OF_REQUESTS.test(file));
  assert.ok(handled.length > 100, String(handled.length));
  const opening = handled.filter((file) =>
    /\.\s*(?:transaction|startTransaction)\(\)/.test(withoutComments(file)),
  );
  assert.deepEqual(
    opening.filter((file) => !Object.hasOwn(OPENERS, file)),
    [],
    'take the transaction that the operation is given, or call.write',
  );
  assert.ok(opening.includes('control/http/operations/transaction.ts'));
});
