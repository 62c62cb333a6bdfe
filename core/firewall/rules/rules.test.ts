import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ruleIdentity, type WantedRule } from './content.ts';
import { describeDifference, describeRule, describeRules } from './describe.ts';
import { difference } from './difference.ts';
import { expandEntry, readEntry, type RuleEntry } from './entry.ts';
import { changedMarks } from './marks.ts';

const NOW = new Date('2026-11-27T12:00:00Z');
const read = (entry: Partial<RuleEntry>, family: 4 | 6 | null = 4) =>
  readEntry({ action: 'allow', protocol: 'tcp', ...entry }, { family, maxPorts: 10, now: NOW });
function rulesOf(entry: Partial<RuleEntry>): WantedRule[] {
  const outcome = read(entry);
  assert.ok(outcome.ok);
  return expandEntry(outcome.value);
}
const rule = fc.record({
  action: fc.constantFrom('allow' as const, 'deny' as const),
  protocol: fc.constantFrom('tcp' as const, 'udp' as const),
  source: fc.constantFrom(null, '192.0.2.7', '198.51.100.0/24'),
  port: fc.constantFrom(null, 22, 80, 81),
});
const rules = fc.uniqueArray(rule, { selector: ruleIdentity, maxLength: 12 });

test('a difference makes what is there into what is wanted, and no smaller one does', () => {
  fc.assert(
    fc.property(rules, rules, (there, wanted) => {
      const { created, deleted, kept } = difference(there, wanted, ruleIdentity);
      const after = [...there.filter((one) => !deleted.includes(one)), ...created];
      assert.deepEqual(after.map(ruleIdentity).toSorted(), wanted.map(ruleIdentity).toSorted());
      assert.equal(created.length + kept.length, wanted.length);
      assert.equal(deleted.length + kept.length, there.length);
    }),
  );
});

test('rules that differ only in their ports are one line; one with a ref or a named port stands alone', () => {
  const named = { server: 'Survival', name: 'query', shown: 'Survival:query' };
  assert.deepEqual(
    describeRules([
      ...rulesOf({ destination_port: '80,443,7000-7002' }),
      ...rulesOf({ destination_port: '22', ref: 'ssh' }),
      ...rulesOf({ protocol: 'udp', namedPort: named, destination_port: null }),
      ...rulesOf({ action: 'deny', protocol: 'any', source_ip: '192.0.2.0/24' }),
    ]),
    [
      'allow tcp 80,443,7000-7002',
      'allow tcp 22 (ssh)',
      'allow udp Survival:query',
      'deny any from 192.0.2.0/24',
    ],
  );
});

test('an entry is read once for requests and files: ends are whole seconds, and what is over is said', () => {
  const [ends] = rulesOf({ destination_port: '1', expires_at: '2027-01-01T00:00:00.200+01:00' });
  assert.equal(ends?.expiresAt?.toISOString(), '2026-12-31T23:00:01.000Z');
  // Rounded up, it would be of a year with five digits.
  const [never] = rulesOf({ destination_port: '1', expires_at: '9999-12-31T23:59:59.999Z' });
  assert.equal(never?.expiresAt?.toISOString(), '9999-12-31T23:59:59.000Z');
  const over = read({ expires_at: '2026-11-27T12:00:00Z' });
  assert.ok(over.ok && over.value.hasExpired);
  const refused: readonly [Partial<RuleEntry>, string][] = [
    [{ expires_at: '2027-01-01T00:00:00' }, 'expires_at'],
    [{ expires_at: 'tomorrow' }, 'expires_at'],
    [{ ref: '' }, 'ref'],
    [{ destination_port: '1,2', ref: 'two' }, 'ref'],
    [{ destination_port: '1-11' }, 'destination_port'],
    [{ note: 'x'.repeat(2_001) }, 'note'],
    [{ protocol: 'gre', namedPort: { server: 's', name: 'p' } }, 'destination_port'],
  ];
  for (const [entry, field] of refused) {
    const outcome = read(entry);
    assert.equal(outcome.ok ? null : outcome.field, field, JSON.stringify(entry));
  }
  const whole = read({ source_ip: '0.0.0.0/0' }, null);
  assert.match(whole.ok ? '' : whole.reason, /a group may stand on addresses of both families/);
});

test('a ref that another rule takes is taken away, and absent marks stay', () => {
  const stored = {
    ...rulesOf({ destination_port: '22' })[0],
    ref: 'ci',
    expiresAt: NOW,
  } as WantedRule & {
    ref: string | null;
    expiresAt: Date | null;
  };
  const kept = [{ stored, wanted: rulesOf({ destination_port: '22' })[0] as WantedRule }];
  assert.deepEqual(changedMarks(kept, []), []);
  // Notes of rules of an address are stored apart.
  const noted = kept.map((pair) => ({ ...pair, wanted: { ...pair.wanted, note: 'x' } }));
  assert.deepEqual(changedMarks(noted, []), []);
  const marked = changedMarks(kept, [{ ref: 'ci' }]);
  assert.deepEqual(marked[0]?.marks, { ref: null, expiresAt: NOW });
  const none = { created: [], deleted: [], kept: [] };
  const [change] = describeDifference({ rules: none, filters: none, marked });
  assert.equal(change?.text, 'allow tcp 22 (ci): no ref, until 2026-11-27T12:00:00.000Z');
});

test('a description is what a pasted line of the portal may be', () => {
  const text = describeRule({ action: 'deny', protocol: 'udp', source: '192.0.2.0/24', port: 19 });
  assert.equal(text, 'deny udp 19 from 192.0.2.0/24');
});
