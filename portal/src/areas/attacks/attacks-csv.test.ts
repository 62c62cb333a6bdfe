import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Attack } from '@portcullis/client/index.ts';
import { attacksCsv } from './attacks-csv.ts';

const attack = (id: number, mitigated_at: string | null): Attack => ({
  id,
  destination_ip: '203.0.113.10',
  prefix: '203.0.113.0/24',
  attack_type: 'udp_flood',
  peak_bps: 5,
  peak_bps_formatted: '5.00 bps',
  peak_pps: 7,
  peak_pps_formatted: '7.00 pps',
  started_at: '2026-11-21T01:00:00+00:00',
  mitigated_at,
  ended_at: null,
  duration_seconds: 60,
  status: 'ongoing',
});
const attacks = [
  attack(1, '2026-11-21T01:00:09+00:00'),
  attack(2, null),
  attack(3, '2026-11-21T01:00:02+00:00'),
];

it('writes attacks as CSV with the names of the interface', () => {
  const [titles, , second] = attacksCsv(attacks).split('\r\n');
  assert.equal(titles?.split(',').slice(0, 3).join(), 'id,destination_ip,prefix');
  assert.equal(
    second,
    '2,203.0.113.10,203.0.113.0/24,udp_flood,5,7,2026-11-21T01:00:00+00:00,,,60,ongoing',
  );
});
