import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AcceptedRule } from '@portcullis/client/index.ts';
import { parsePastedRules } from './paste-rules.ts';
import {
  countRules,
  EMPTY_DRAFT,
  explainPorts,
  explainSource,
  inputOf,
  inputsOf,
} from './rule-draft.ts';

const IP = '203.0.113.10';

describe('the rule form', () => {
  it('explains a port expression by the parser of the service', () => {
    assert.deepEqual(explainPorts('7000-7002, 80'), {
      isValid: true,
      text: '4 ports: 80, 7000–7002. One rule each.',
    });
    assert.match(explainPorts('80-').text, /neither a port nor a range/);
    assert.equal(explainPorts('0').isValid, false);
  });

  it('refuses a source of the other family and one with host bits', () => {
    assert.equal(explainSource('198.51.100.0/24', IP).isValid, true);
    assert.match(explainSource('2001:db8::1', IP).text, /IPv4/);
    assert.equal(explainSource('198.51.100.7/24', IP).isValid, false);
  });

  it('counts one rule a port, and sends no ports with a protocol that has none', () => {
    assert.equal(countRules({ ...EMPTY_DRAFT, ports: '1-10' }), 10);
    const icmp = { ...EMPTY_DRAFT, protocol: 'icmp', ports: '80' } as const;
    assert.equal(inputOf(icmp).destination_port, null);
  });
});

describe('pasted rules', () => {
  it('are read a line each, comments and empty lines left out', () => {
    const lines = parsePastedRules(
      '# web\nallow tcp 80, 443\n\ndeny any from 198.51.100.0/24 # abuse\n25565\nudp 19132 192.0.2.7',
      IP,
    );
    const rule = (
      action: string,
      protocol: string,
      port: string | null,
      source: string | null,
    ) => ({
      action,
      protocol,
      destination_port: port,
      source_ip: source,
    });
    assert.deepEqual(
      lines.map(({ rule }) => rule),
      [
        rule('allow', 'tcp', '80,443', null),
        rule('deny', 'any', null, '198.51.100.0/24'),
        rule('allow', 'tcp', '25565', null),
        rule('allow', 'udp', '19132', '192.0.2.7'),
      ],
    );
  });

  it('name the line and the reason where one is wrong', () => {
    const lines = parsePastedRules('allow tcp 80\nallow icmp 80\nopen sesame', IP);
    const wrong = lines.filter(({ rule }) => rule === null);
    assert.deepEqual(
      wrong.map(({ line }) => line),
      [2, 3],
    );
    assert.match(wrong[0]?.reason ?? '', /icmp has no ports/);
    assert.match(wrong[1]?.reason ?? '', /^“open” is no action/);
    const [unknown, anywhere] = parsePastedRules('foo tcp 1\ndeny udp 19 from anywhere', IP);
    assert.match(unknown?.reason ?? '', /^“foo” is no action, protocol, port or source/);
    assert.deepEqual([anywhere?.rule?.source_ip, anywhere?.reason], [null, null]);
  });
});

describe('the undo of a deletion', () => {
  it('joins rules that differ in their port only', () => {
    const rule = (port: number | null, source: string | null = null) =>
      ({
        action: 'allow',
        protocol: 'tcp',
        destination_port: port,
        source_ip: source,
      }) as AcceptedRule;
    const inputs = inputsOf([rule(80), rule(443), rule(null), rule(80, '192.0.2.1')]);
    assert.deepEqual(
      inputs.map(({ destination_port, source_ip }) => [destination_port, source_ip]),
      [
        ['80,443', null],
        [null, null],
        ['80', '192.0.2.1'],
      ],
    );
  });
});
