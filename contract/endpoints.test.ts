import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { asObject, toJson } from './components.ts';
import type { Endpoint, OperatorEndpoint, ResponseRow, Row } from './endpoint.ts';
import { ENDPOINTS } from './endpoints.ts';
import { PROBLEMS } from './problems.ts';
import { OPERATOR_ENDPOINTS } from './operator-endpoints.ts';
import { PORTAL_ENDPOINTS } from './portal-endpoints.ts';
import { X1_ENDPOINTS } from './x1-endpoints.ts';

/** Part 4 of the interface, by hand: the tables must say the same. */
const INTERFACE = [
  'GET /firewall/ips/{ip} firewall.read firewall_api',
  'GET /firewall/ips/{ip}/filters/available firewall.read firewall_api',
  'POST /firewall/ips/{ip}/rules firewall.manage firewall_api',
  'DELETE /firewall/ips/{ip}/rules firewall.manage firewall_api',
  'POST /firewall/ips/{ip}/filters firewall.manage firewall_api',
  'DELETE /firewall/ips/{ip}/filters firewall.manage firewall_api',
  'GET /game-servers game-servers.read none',
  'GET /game-servers/{slice} game-servers.read none',
  'POST /game-servers/{slice}/power game-servers.manage none',
  'POST /game-servers/{slice}/command game-servers.manage none',
  'GET /attacks attacks.read attack_history_api',
];

const BEYOND = [
  'GET /firewall/ips firewall.read firewall_api',
  'GET /firewall/ips/{ip} firewall.read firewall_api',
  'PUT /firewall/ips/{ip} firewall.manage firewall_api',
  'POST /firewall/ips/{ip}/rules firewall.manage firewall_api',
  'PUT /firewall/ips/{ip}/filter-settings firewall.manage firewall_api',
  'PUT /firewall/defaults firewall.manage firewall_api',
  'GET /firewall/ips/{ip}/default-preview firewall.read firewall_api',
  'POST /firewall/ips/{ip}/explain firewall.read firewall_api',
  'GET /firewall/ips/{ip}/drops firewall.read firewall_api',
  'GET /firewall/ips/{ip}/traffic firewall.read firewall_api',
  'POST /firewall/ips/{ip}/dry-run firewall.manage firewall_api',
  'GET /firewall/filters firewall.read firewall_api',
  'GET /firewall/blocked firewall.read firewall_api',
  'POST /firewall/blocked firewall.manage firewall_api',
  'DELETE /firewall/blocked firewall.manage firewall_api',
  'GET /game-servers game-servers.read none',
  'GET /game-servers/{slice}/build game-servers.read none',
  'GET /game-servers/{slice}/history game-servers.read none',
  'GET /game-servers/{slice}/console game-servers.manage none',
  'POST /game-servers/{slice}/reinstall game-servers.manage none',
  'GET /game-servers/quota game-servers.create none',
  'GET /eggs game-servers.create none',
  'POST /game-servers/places game-servers.create none',
  'POST /game-servers game-servers.create none',
  'DELETE /game-servers/{slice} game-servers.create none',
  'GET /game-servers/{slice}/files game-servers.files none',
  'DELETE /game-servers/{slice}/files game-servers.files none',
  'GET /game-servers/{slice}/files/content game-servers.files none',
  'PUT /game-servers/{slice}/files/content game-servers.files none',
  'GET /game-servers/{slice}/files/upload game-servers.files none',
  'PUT /game-servers/{slice}/files/upload game-servers.files none',
  'DELETE /game-servers/{slice}/files/upload game-servers.files none',
  'GET /game-servers/{slice}/files/download game-servers.files none',
  'POST /game-servers/{slice}/files/links game-servers.files none',
  'POST /game-servers/{slice}/files/upload/links game-servers.files none',
  'POST /game-servers/{slice}/files/folders game-servers.files none',
  'POST /game-servers/{slice}/files/move game-servers.files none',
  'POST /game-servers/{slice}/files/copy game-servers.files none',
  'POST /game-servers/{slice}/files/archive game-servers.files none',
  'POST /game-servers/{slice}/files/unpack game-servers.files none',
  'POST /game-servers/{slice}/files/pull game-servers.files none',
  'POST /game-servers/{slice}/files/mode game-servers.files none',
  'GET /game-servers/{slice}/files/search game-servers.files none',
  'GET /game-servers/{slice}/files/usage game-servers.files none',
  'GET /game-servers/{slice}/files/bin game-servers.files none',
  'POST /game-servers/{slice}/files/bin/restore game-servers.files none',
  'DELETE /game-servers/{slice}/files/bin game-servers.files none',
  'GET /game-servers/{slice}/files/jobs game-servers.files none',
  'DELETE /game-servers/{slice}/files/jobs/{job} game-servers.files none',
  'GET /game-servers/{slice}/people game-servers.settings none',
  'POST /game-servers/{slice}/people game-servers.settings none',
  'PUT /game-servers/{slice}/people/{person} game-servers.settings none',
  'DELETE /game-servers/{slice}/people/{person} game-servers.settings none',
  'DELETE /game-servers/{slice}/invitations/{invitation} game-servers.settings none',
  'GET /game-servers/{slice}/activity game-servers.settings none',
  'GET /game-servers/{slice}/sftp game-servers.files none',
  'GET /game-servers/{slice}/ports game-servers.settings none',
  'POST /game-servers/{slice}/ports game-servers.settings none',
  'PUT /game-servers/{slice}/ports/{address}/{port} game-servers.settings none',
  'POST /game-servers/{slice}/ports/{address}/{port}/primary game-servers.settings none',
  'DELETE /game-servers/{slice}/ports/{address}/{port} game-servers.settings none',
  'GET /game-servers/{slice}/settings game-servers.settings none',
  'PATCH /game-servers/{slice}/settings game-servers.settings none',
  'GET /attacks/{attack} attacks.read attack_history_api',
  'DELETE /attacks/{attack}/mitigations firewall.manage attack_history_api',
  'POST /attacks/{attack}/accept firewall.manage attack_history_api',
  'DELETE /attacks/{attack}/accept firewall.manage attack_history_api',
  'GET /caller any none',
  'GET /events any none',
];

/** Every code with its status, by hand: clients program against both. */
const CODES = {
  unauthenticated: 401,
  area_not_enabled: 403,
  ability_missing: 403,
  not_found: 404,
  method_not_allowed: 405,
  malformed_json: 400,
  payload_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  invalid_request: 422,
  rule_exists: 422,
  idempotency_key_reused: 422,
  idempotency_in_progress: 409,
  precondition_failed: 412,
  filter_exists: 422,
  filter_unavailable: 422,
  conflict: 422,
  no_capacity: 422,
  limit_exceeded: 422,
  managed_by_group: 422,
  managed_by_fleet_file: 422,
  live_objects: 422,
  role_missing: 403,
  cross_site_request: 403,
  rate_limited: 429,
  no_port_landed: 502,
  outcome_unknown: 503,
  unavailable: 503,
  internal: 500,
};

const FOR_KEYS: readonly Endpoint[] = [...ENDPOINTS, ...X1_ENDPOINTS];
const FOR_OPERATORS: readonly OperatorEndpoint[] = OPERATOR_ENDPOINTS;
const ALL: readonly Row[] = [...FOR_KEYS, ...FOR_OPERATORS, ...PORTAL_ENDPOINTS];

describe('the endpoint tables', () => {
  it('have the eleven operations of the interface, in its order, and no other', () => {
    assert.deepEqual(ENDPOINTS.map(describeRow), INTERFACE);
  });

  it('have the operations beyond the interface apart from it', () => {
    assert.deepEqual(X1_ENDPOINTS.map(describeRow), BEYOND);
  });

  it('name every operation once', () => {
    const names = ALL.map((row) => row.operationId);
    assert.equal(new Set(names).size, names.length);
  });

  it('describe every parameter of the path, and no other', () => {
    for (const row of ALL) {
      const inPath = [...row.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      assert.deepEqual(Object.keys(row.params ?? {}), inPath, row.operationId);
    }
  });

  it('call a write what needs a manage ability, and nothing else', () => {
    for (const row of FOR_KEYS) {
      if (row.write !== false)
        assert.match(row.ability ?? '', /\.(?:manage|files|settings|create)$/, row.operationId);
    }
    for (const row of FOR_OPERATORS) {
      const needed = row.write === false ? 'operator.read' : 'operator.manage';
      assert.equal(row.operator, needed, row.operationId);
    }
    for (const row of ALL) {
      if (row.method === 'GET') assert.equal(row.write, false, row.operationId);
    }
  });

  it('take Idempotency-Key on every POST and DELETE that writes, but where the answer is a secret, and nowhere else', () => {
    const secret = ['makeFileLink', 'makeUploadLink'];
    for (const row of [...FOR_KEYS, ...FOR_OPERATORS]) {
      const writes = (row.method === 'POST' || row.method === 'DELETE') && row.write !== false;
      const takes = writes && !secret.includes(row.operationId);
      assert.equal(row.idempotent ?? false, takes, row.operationId);
      assert.equal(row.requestHeaders?.includes('Idempotency-Key') ?? false, takes);
      assert.equal(Object.hasOwn(row.responses, 409), takes, row.operationId);
    }
  });

  it('answer 304 on every GET, and tag what it names', () => {
    for (const row of ALL) {
      const answersOnce = row.operationId === 'downloadFiles' || row.stream === true;
      const isRead = row.method === 'GET' && !answersOnce;
      assert.equal(Object.hasOwn(row.responses, 304), isRead, row.operationId);
      assert.equal(row.responses[200]?.headers.includes('ETag') ?? false, isRead, row.operationId);
    }
  });

  it('say how each operation with a body refuses one that it cannot read', () => {
    for (const row of ALL) {
      for (const status of [400, 413, 415]) {
        assert.equal(Object.hasOwn(row.responses, status), row.body !== undefined, row.operationId);
      }
    }
  });

  it('answer power and command in the acknowledgement envelope on 200, 422 and 502', () => {
    for (const id of ['sendPowerSignal', 'sendCommand']) {
      const row = ALL.find((one) => one.operationId === id);
      for (const status of [200, 422, 502]) {
        const response: ResponseRow | undefined = row?.responses[status];
        assert.ok(response?.schema !== undefined);
        const { properties } = asObject(toJson(response.schema));
        assert.deepEqual(Object.keys(properties ?? {}), ['ok', 'message']);
      }
    }
  });

  it('name every answer’s request, and every refusal at its own status', () => {
    for (const row of ALL) {
      for (const [status, response] of Object.entries(row.responses)) {
        assert.ok(response.headers.includes('X-Request-Id'), `${row.operationId} ${status}`);
        for (const code of response.problems ?? []) {
          assert.equal(PROBLEMS[code].status, Number(status), `${row.operationId} ${code}`);
        }
      }
    }
  });

  it('refuse bodies and queries with fields that they do not know', () => {
    for (const row of ALL) {
      for (const schema of [row.body, row.query]) {
        if (schema === undefined) continue;
        assert.equal(asObject(toJson(schema))['additionalProperties'], false, row.operationId);
      }
    }
  });
});

describe('the problem catalogue', () => {
  it('has every code with its status, and no other', () => {
    const statuses = Object.entries(PROBLEMS).map(([code, { status }]) => [code, status]);
    assert.deepEqual(Object.fromEntries(statuses), CODES);
  });

  it('has no code that no operation answers with, but for a method that a path does not take', () => {
    const answered = new Set(
      ALL.flatMap((row) => Object.values(row.responses).flatMap((one) => one.problems ?? [])),
    );
    const silent = Object.keys(PROBLEMS).filter((code) => !(answered as Set<string>).has(code));
    assert.deepEqual(silent, ['method_not_allowed']);
  });
});

function describeRow({ method, path, ability, flag }: Endpoint): string {
  return `${method} ${path} ${ability ?? 'any'} ${flag ?? 'none'}`;
}
