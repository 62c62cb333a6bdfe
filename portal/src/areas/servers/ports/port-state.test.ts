import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { portStateOf } from './port-state.ts';

type View = Parameters<typeof portStateOf>[0];
const rule = (
  action: 'allow' | 'deny',
  port: number | null,
  source: string | null = null,
  fields: object = {},
) =>
  ({
    action,
    protocol: 'tcp',
    destination_port: port,
    source_ip: source,
    status: 'live',
    ...fields,
  }) as View['rules'][number];
const view = (
  rules: View['rules'],
  otherwise: 'accept' | 'deny' = 'accept',
  filters: View['filters'] = [],
): View => ({
  rules,
  filters,
  default: otherwise,
  isEnforced: true,
});
const verdict = (given: View) => portStateOf(given, 25_565, 'tcp').verdict;

describe('the firewall state of a port', () => {
  it('reads allow before deny, then the default', () => {
    assert.equal(verdict(view([])), 'open');
    assert.equal(verdict(view([], 'deny')), 'closed');
    assert.equal(verdict(view([rule('deny', null)])), 'closed');
    assert.equal(verdict(view([rule('deny', null), rule('allow', 25_565)])), 'open');
    assert.equal(verdict(view([rule('allow', 25_565, '192.0.2.1')], 'deny')), 'some');
    assert.equal(verdict(view([rule('deny', 25_565, '192.0.2.0/24')])), 'some');
  });

  it('leaves out other ports, other protocols, and rules that are going', () => {
    const others = [
      rule('deny', 80),
      rule('deny', 25_565, null, { protocol: 'udp' }),
      rule('deny', 25_565, null, { status: 'going' }),
    ];
    assert.equal(verdict(view(others)), 'open');
    assert.equal(verdict(view([rule('deny', null, null, { protocol: 'any' })])), 'closed');
  });

  it('says what is not live, and names the filters of the protocol', () => {
    const pending = portStateOf(
      view([rule('deny', 25_565, null, { status: 'pending' })]),
      25_565,
      'tcp',
    );
    assert.equal(pending.propagation, 'moving');
    const waiting = portStateOf({ ...view([]), isEnforced: false }, 25_565, 'tcp');
    assert.equal(waiting.propagation, 'waiting', 'nothing moves towards no edge');
    const filter = {
      type: 'tcp-syn-proxy',
      name: 'TCP SYN proxy',
      port: 25_565,
      status: 'live',
    } as View['filters'][number];
    const filtered = portStateOf(view([], 'accept', [filter]), 25_565, 'tcp');
    assert.deepEqual(filtered.filters, ['TCP SYN proxy']);
    assert.deepEqual(portStateOf(view([], 'accept', [filter]), 25_565, 'udp').filters, []);
  });
});
