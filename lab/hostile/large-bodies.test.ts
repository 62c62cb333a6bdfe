import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { startEnvironment } from '@portcullis/control/testing/fixture.ts';

const IP = '203.0.113.10';
/** Beyond what the slowest machine of CI needs by far; a body that costs its square needs minutes. */
const CPU_MS = 6_000;
/** The limit of a body is 512 KiB, for some operations less. */
const BIG = 400_000;

const BODIES: Readonly<Record<string, readonly [string, string, string]>> = {
  'JSON 200,000 deep': ['POST', `/api/v1/firewall/ips/${IP}/rules`, '['.repeat(BIG / 2)],
  'objects 60,000 deep': ['PUT', `/api/x1/firewall/ips/${IP}`, '{"a":'.repeat(60_000)],
  '80,000 ports': [
    'POST',
    `/api/v1/firewall/ips/${IP}/rules`,
    JSON.stringify({ action: 'deny', protocol: 'udp', destination_port: ports(80_000) }),
  ],
  '4,096 rules': [
    'PUT',
    `/api/x1/firewall/ips/${IP}`,
    JSON.stringify({
      rules: Array.from({ length: 4_096 }, (_, port) => ({
        action: 'deny',
        protocol: 'udp',
        destination_port: String(port + 1),
      })),
      filters: [],
    }),
  ],
  '1,000 blocked networks': [
    'POST',
    '/api/x1/firewall/blocked',
    JSON.stringify({
      sources: Array.from({ length: 1_000 }, (_, n) => `10.${n >> 8}.${n & 255}.0/24`),
    }),
  ],
  'one string of 400 kB': [
    'POST',
    `/api/v1/firewall/ips/${IP}/rules`,
    JSON.stringify({ action: 'deny', protocol: 'any', source_ip: '1'.repeat(BIG) }),
  ],
};

test('a body that is as large or as deep as it may be costs little and is answered in words', async (t) => {
  const { acme, db } = await startEnvironment(t);
  await sql`update organisations set rules_per_ip = 10000 where id = 1`.execute(db);
  for (const [what, [method, path, raw]] of Object.entries(BODIES)) {
    const before = process.cpuUsage();
    const reply = await acme.send(method, path, { raw });
    const { user, system } = process.cpuUsage(before);
    assert.ok(reply.status < 500, `${what}: ${reply.status} ${reply.text.slice(0, 300)}`);
    assert.ok((user + system) / 1_000 < CPU_MS, `${what}: ${(user + system) / 1_000} ms`);
    assert.ok(reply.status < 300 || reply.text.length < 20_000, `${what}: a short refusal`);
    t.diagnostic(`${what}: ${reply.status}, ${Math.round((user + system) / 1_000)} ms`);
  }
});

/** Different ones, so that nothing is said twice: 1,3,5,... */
function ports(count: number): string {
  const all = Array.from({ length: count }, (_, index) => String((index * 2 + 1) % 65_536));
  return all.join(',').slice(0, BIG);
}
