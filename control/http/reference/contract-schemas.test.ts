import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Endpoint } from '@portcullis/contract/endpoint.ts';
import { ENDPOINTS } from '@portcullis/contract/endpoints.ts';
import { buildOpenApi } from '@portcullis/contract/openapi.ts';
import { PROBLEM_CODES, PROBLEMS } from '@portcullis/contract/problems.ts';
import { STAGES as SHOWN_STAGES } from '@portcullis/contract/schemas/x1-explain.ts';
import { X1_ENDPOINTS } from '@portcullis/contract/x1-endpoints.ts';
import { ABILITIES } from '@portcullis/core/access/abilities.ts';
import { INFO } from '@portcullis/contract/openapi-texts.ts';
import { STAGES } from '@portcullis/core/firewall/stages.ts';

const ROWS: readonly Endpoint[] = [...ENDPOINTS, ...X1_ENDPOINTS];

describe('the schemas of the contract', () => {
  it('compile under strict ajv, each alone and by reference', () => {
    const ajv = strictAjv();
    for (const row of ROWS) {
      for (const schema of [row.body, row.query, ...Object.values(row.params ?? {})]) {
        if (schema !== undefined) assert.equal(typeof ajv.compile(schema), 'function');
      }
      for (const { schema } of Object.values(row.responses)) {
        if (schema !== undefined) assert.equal(typeof ajv.compile(schema), 'function');
      }
    }
    for (const version of ['v1', 'x1'] as const) {
      const id = `https://portcullis.example/${version}`;
      const document = buildOpenApi(version);
      const referring = strictAjv().addSchema({ $id: id, $defs: definitions(document) });
      for (const name of Object.keys(definitions(document))) {
        assert.equal(typeof referring.compile({ $ref: `${id}#/$defs/${name}` }), 'function');
      }
    }
  });

  it('accept their examples', () => {
    const ajv = strictAjv();
    let shown = 0;
    for (const row of ROWS) {
      for (const example of Object.values(row.bodyExamples ?? {})) {
        shown += 1;
        assert.ok(row.body !== undefined && ajv.validate(row.body, example), row.operationId);
      }
      for (const { schema, example } of Object.values(row.responses)) {
        if (schema === undefined || example === undefined) continue;
        shown += 1;
        assert.ok(ajv.validate(schema, example), `${row.operationId}: ${ajv.errorsText()}`);
      }
    }
    assert.ok(shown >= 20);
  });

  it('share one schema of problems, and say for each what to do', () => {
    for (const version of ['v1', 'x1'] as const) {
      const document = JSON.stringify(buildOpenApi(version));
      const problems = document.split('"application/problem+json":{"schema":').slice(1);
      assert.ok(problems.length > 0);
      assert.ok(problems.every((one) => one.startsWith('{"$ref":"#/components/schemas/Problem"}')));
    }
    assert.ok(PROBLEM_CODES.every((code) => PROBLEMS[code].remedy.endsWith('.')));
  });

  it('list the values of no response field as an enumeration that would break when it grows', () => {
    const schemas = definitions(buildOpenApi('v1'));
    for (const [name, field] of [
      ['Attack', 'attack_type'],
      ['CatalogueEntry', 'category'],
      ['Rule', 'protocol'],
      ['GameServerDetail', 'state'],
    ] as const) {
      const property = Object(Object(Object(schemas)[name]).properties)[field] as object;
      assert.ok('x-extensible-enum' in property && !('enum' in property), `${name}.${field}`);
    }
  });

  const REFUSED: readonly (readonly [string, string, unknown])[] = [
    ['createRules', 'an unknown field', { action: 'deny', protocol: 'tcp', note: 'x' }],
    ['createRules', 'a port as a number', { action: 'deny', protocol: 'tcp', destination_port: 1 }],
    ['createRules', 'an unknown protocol', { action: 'deny', protocol: 'sctp' }],
    ['createRules', 'a missing action', { protocol: 'tcp' }],
    ['applyFilters', 'a missing port', { type: 'udp-stateful' }],
    ['applyFilters', 'a port that is null', { type: 'udp-stateful', port: null }],
    ['deleteRules', 'no ids', { ids: [] }],
    ['deleteRules', '101 ids', { ids: Array.from({ length: 101 }, (_, index) => index + 1) }],
    ['deleteRules', 'an id of 0', { ids: [0] }],
    ['deleteRules', 'an id beyond what JSON carries', { ids: [2 ** 53] }],
    ['deleteRules', 'an id in a string', { ids: ['1'] }],
    ['deleteFilters', '101 keys', { keys: Array.from({ length: 101 }, String) }],
    ['sendPowerSignal', 'an unknown signal', { signal: 'pause' }],
    ['sendCommand', 'two lines', { command: 'say a\nstop' }],
    ['sendCommand', 'nothing', { command: '' }],
    ['sendCommand', '2049 characters', { command: '😀'.repeat(2049) }],
    ['explainPacket', 'a protocol beyond 255', { protocol: 256, source_ip: '192.0.2.1' }],
    ['replaceAddress', 'rules without filters', { rules: [] }],
  ];
  for (const [operationId, what, body] of REFUSED) {
    it(`reject ${what} in ${operationId}`, () => assert.ok(!accepts(operationId, body)));
  }

  const ACCEPTED: readonly (readonly [string, string, unknown])[] = [
    ['createRules', 'null for any', anyRule()],
    ['createRules', 'neither port nor source', { action: 'allow', protocol: 'gre' }],
    ['deleteRules', '100 ids', { ids: Array.from({ length: 100 }, (_, index) => index + 1) }],
    ['sendCommand', '2048 characters outside of the first plane', { command: '😀'.repeat(2048) }],
    ['replaceAddress', 'an address with nothing', { rules: [], filters: [] }],
    ['explainPacket', 'a protocol by number', { protocol: 0, source_ip: '192.0.2.1' }],
  ];
  for (const [operationId, what, body] of ACCEPTED) {
    it(`accept ${what} in ${operationId}`, () => assert.ok(accepts(operationId, body)));
  }

  it('list the stages of edges in order', () => {
    assert.deepEqual(
      SHOWN_STAGES,
      STAGES.map(({ name }) => name),
    );
  });

  it('tell in a table, whose first column has a header too, what each stage may do', () => {
    const lines = INFO.v1.description.split('\n').filter((line) => line.startsWith('|'));
    const [header = [], , ...rows] = lines.map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
    assert.deepEqual(
      header.map((cell) => cell === ''),
      header.map(() => false),
    );
    assert.deepEqual(
      rows.map(([place, , , final]) => [place, final !== '']),
      STAGES.map(({ pass }, index) => [`${index + 1}`, pass === 'final']),
    );
    for (const [index, { name, pass }] of STAGES.entries()) {
      // The default accepts by dropping nothing.
      const isExpected = pass === 'to-filters' || name === 'default';
      assert.equal((rows[index]?.[4] ?? '') !== '', isExpected, name);
    }
  });

  it('list exactly the abilities of keys', () => {
    assert.deepEqual(
      new Set(ROWS.map((row) => row.ability).filter((one) => one !== null)),
      new Set(ABILITIES),
    );
  });
});

function strictAjv(): Ajv2020 {
  const ajv = new Ajv2020({ strict: true, allErrors: true });
  addFormats.default(ajv);
  ajv.addKeyword('x-extensible-enum');
  ajv.addKeyword('x-multiline');
  ajv.addKeyword('x-document');
  return ajv;
}

function accepts(operationId: string, body: unknown): boolean {
  const row = ROWS.find((one) => one.operationId === operationId);
  assert.ok(row?.body !== undefined);
  return strictAjv().validate(row.body, body);
}

function anyRule() {
  return { action: 'allow', protocol: 'tcp', destination_port: null, source_ip: null };
}

/** The schemas of the document, with references in the form of ajv. */
function definitions(document: object): Readonly<Record<string, object>> {
  const text = JSON.stringify(document).replaceAll('#/components/schemas/', '#/$defs/');
  const parsed = JSON.parse(text) as { components: { schemas: Record<string, object> } };
  return parsed.components.schemas;
}
