import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Group } from '@portcullis/client/index.ts';
import { searchRows } from '../../components/list/columns.ts';
import { splitTargets } from '../addresses/targets.ts';
import { fieldsOf, findWrongTarget, inputOfGroup, isSameGroup } from './group-draft.ts';

const NO_MARKS = { ref: null, expires_at: null, note: null };
const GROUP: Group = {
  id: 7,
  name: 'web',
  owner: 'portal',
  rules: [
    { id: 1, action: 'deny', protocol: 'udp', source_ip: null, destination_port: 19, ...NO_MARKS },
    {
      id: 2,
      action: 'allow',
      protocol: 'any',
      source_ip: '198.51.100.0/24',
      destination_port: null,
      ref: 'office',
      expires_at: '2027-01-01T00:00:00+00:00',
      note: 'until the move',
    },
  ],
  filters: [{ id: 3, type: 'udp-stateful', port: 27015, ...NO_MARKS }],
  targets: ['203.0.113.10', '203.0.113.64/26'],
};

describe('the form of a group', () => {
  it('sends back what was read, so that nothing changes', () => {
    const input = inputOfGroup(GROUP);
    assert.deepEqual(
      input.rules.map(({ destination_port }) => destination_port),
      ['19', null],
    );
    assert.deepEqual(input.filters, [{ type: 'udp-stateful', port: '27015', ...NO_MARKS }]);
    const { ref, expires_at, note } = input.rules[1] ?? {};
    assert.deepEqual(
      [ref, expires_at, note],
      ['office', '2027-01-01T00:00:00+00:00', 'until the move'],
    );
    const reordered = { ...input, name: ' web ', targets: input.targets.toReversed() };
    assert.ok(isSameGroup(input, reordered));
    assert.ok(!isSameGroup(input, { ...input, rules: [] }));
  });

  it('takes pasted targets apart, each once', () => {
    assert.deepEqual(splitTargets(['192.0.2.1', '192.0.2.0/24, 192.0.2.1;\n2001:db8::1']), [
      '192.0.2.1',
      '192.0.2.0/24',
      '2001:db8::1',
    ]);
  });

  it('names what is neither an address nor a prefix', () => {
    assert.equal(findWrongTarget(GROUP.targets), null);
    assert.equal(findWrongTarget(['203.0.113.10', 'all'])?.typed, 'all');
    assert.notEqual(findWrongTarget(['203.0.113.10/24']), null);
  });

  it('is found by name, target, rule or filter', () => {
    const found = (search: string) => searchRows([GROUP], search, fieldsOf).length;
    assert.deepEqual(
      ['WEB', '203.0.113.64', 'deny udp 19', '27015', 'the move', 'tcp'].map(found),
      [1, 1, 1, 1, 1, 0],
    );
  });
});
