import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Attack, HeldAddress } from '@portcullis/client/index.ts';
import { type AddressFilter, rowsOf, searchRows, type Wanted } from './address-rows.ts';

function held(ip: string, rules = 0, service: number | null = null): HeldAddress {
  const since = '2026-01-01T00:00:00Z';
  const counts = { rules_count: rules, filters_count: 0, dropped_packets: 100 - rules };
  const name = service === null ? null : `Survival ${service}`;
  return { ip, service_id: service, service_name: name, since, until: null, ...counts };
}

function attack(ip: string, bps: number, status: string): Attack {
  return {
    id: bps,
    destination_ip: ip,
    peak_bps: bps,
    peak_bps_formatted: `${bps}`,
    status,
  } as Attack;
}

const rows = rowsOf(
  [held('203.0.113.1', 2), held('203.0.113.20', 0, 501), held('2001:db8::1', 9)],
  [attack('203.0.113.20', 5, 'ongoing'), attack('203.0.113.20', 9, 'ended')],
  new Map([['203.0.113.1', ['Lobby', 'prod']]]),
);
const ips = (of: readonly { readonly ip: string }[]) => of.map(({ ip }) => ip);

function find(search: string, filter: AddressFilter = 'all', more: Partial<Wanted> = {}): string[] {
  return ips(searchRows(rows, { search, filter, tag: null, noted: new Set(), ...more }));
}

describe('the rows of the address table', () => {
  it('join the attacks of the last day with their address', () => {
    const { ongoing, attacks, peakText, attackId } = rows[1] ?? assert.fail();
    const joined = { ongoing: 1, attacks: 2, peakText: '9', attackId: 5 };
    assert.deepEqual({ ongoing, attacks, peakText, attackId }, joined);
    assert.equal(rows[0]?.attacks, 0);
  });

  it('are found by a part of the address, a containing block or the service', () => {
    assert.deepEqual(find('113.20'), ['203.0.113.20']);
    assert.deepEqual(find('203.0.113.0/28'), ['203.0.113.1']);
    assert.deepEqual(find('501'), ['203.0.113.20']);
    assert.deepEqual(find('surv'), ['203.0.113.20']);
    assert.deepEqual(find('', 'attacked'), ['203.0.113.20']);
    assert.deepEqual(find('', 'bare'), ['203.0.113.20']);
  });

  it('are found by a part of a tag or by a note, and kept to one tag', () => {
    assert.deepEqual(find('lob'), ['203.0.113.1']);
    assert.deepEqual(find('event', 'all', { noted: new Set(['2001:db8::1']) }), ['2001:db8::1']);
    assert.deepEqual(find('', 'all', { tag: 'prod' }), ['203.0.113.1']);
    assert.deepEqual(find('', 'attacked', { tag: 'prod' }), []);
  });
});
