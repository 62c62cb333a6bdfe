import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BASELINE } from '@portcullis/contract/schemas/declared/baseline.ts';
import { BLOCKED_LIST } from '@portcullis/contract/schemas/declared/blocked-list.ts';
import { COLLECTOR } from '@portcullis/contract/schemas/declared/collector.ts';
import {
  bodySchema,
  patchSchema,
  pathNames,
} from '@portcullis/contract/schemas/declared/declared-kind.ts';
import { GEO_RULE } from '@portcullis/contract/schemas/declared/geo-rule.ts';
import { RESPONDER } from '@portcullis/contract/schemas/declared/responder.ts';
import { createValidator } from '@portcullis/contract/validator.ts';
import { draftOf, itemAt, missingIn, objectOf, patchOf, placeOf } from './form-draft.ts';
import { formFields } from './form-fields.ts';
import { HOLDING_ROW, HOST_ROWS, KIND_ROWS, type KindRow } from './kinds.ts';
import { kindWords, labelOf } from './labels.ts';
import { factsOf } from './summary.ts';

const ROWS = [...KIND_ROWS, HOLDING_ROW, ...Object.values(HOST_ROWS)];

function fieldsOf({ kind, ...terms }: KindRow) {
  return formFields(kind.schema, terms);
}

function rowOf(name: string): KindRow {
  return ROWS.find(({ kind }) => kind.name === name) ?? assert.fail(name);
}

/** An object as it is read, with other values than the defaults in its fields. */
const READ: Readonly<Record<string, Record<string, unknown>>> = {
  responder: {
    name: 'scrubber',
    command: null,
    webhook: 'https://scrubber.example/attacks',
    secret: null,
    prefixes: ['203.0.113.0/24'],
    at: { pps: 1_000, mbps: null },
    timeout_seconds: 5,
    expires_seconds: 60,
  },
  baseline: {
    prefix: '203.0.113.0/24',
    rules: [{ action: 'deny', protocol: 'udp', destination_port: '19', source_ip: null }],
  },
  group: {
    organisation: 'acme',
    name: 'game',
    rules: [
      {
        action: 'allow',
        protocol: 'tcp',
        destination_port: '25565',
        source_ip: '198.51.100.0/28',
        ref: 'join',
        expires_at: '2030-01-01T00:00:00.250Z',
        note: 'for the cup',
      },
    ],
    filters: [{ type: 'udp-stateful', port: '19132', ref: null, expires_at: null, note: null }],
    addresses: ['203.0.113.10'],
  },
  'geo-rule': {
    organisation: 'acme',
    id: 7,
    action: 'only',
    countries: ['DE', 'NL'],
    asns: [64_500],
    addresses: ['203.0.113.10'],
  },
  'blocked-list': {
    organisation: 'acme',
    target: 'all',
    sources: [{ source: '198.51.100.0/24', note: 'scans', expires_at: null }],
  },
  service: {
    organisation: 'acme',
    id: 501,
    name: 'survival',
    active: false,
    managed_filters: [{ type: 'udp-stateful', ports: '25565' }],
  },
  edge: {
    name: 'fra1',
    site: 'fra',
    devices: ['eth0', 'ens*'],
    serves: ['203.0.113.0/24'],
    sees: 'inbound',
    fragments: 'limit',
    management: [
      { protocol: 'tcp', port: 22 },
      { protocol: 'udp', port: 51_820 },
    ],
  },
  node: {
    name: 'game1',
    memory: 65_536,
    disk: null,
    addresses: ['198.51.100.10'],
    ports: '25565-25664',
    mounts: [
      {
        name: 'maps',
        source: '/srv/maps',
        target: '/home/container/maps',
        read_only: true,
        eggs: [],
      },
      {
        name: 'worlds',
        source: '/srv/worlds',
        target: '/home/container/worlds',
        read_only: false,
        eggs: ['eggs/flying squid.json', 'eggs/hearth.json'],
      },
    ],
    keep_days: -1,
    sftp_host: 'games.example.net',
  },
  collector: {
    name: 'flows',
    listen: '0.0.0.0:6343',
    site: null,
    exporters: [
      { ip: '192.0.2.1', sampling_rate: 1_000, prefixes: ['203.0.113.0/24', '198.51.100.0/24'] },
      { ip: '192.0.2.2', sampling_rate: null, prefixes: 'all' },
    ],
  },
  holding: {
    organisation: 'acme',
    id: 3,
    prefix: '203.0.113.0/24',
    asn: 64_500,
    service: null,
    since: '2026-01-01T00:00:00+00:00',
    until: null,
    default: 'deny',
  },
};

describe('the form of a kind', () => {
  for (const row of ROWS) {
    const { kind } = row;
    const read = READ[kind.name] ?? assert.fail(`add an object of ${kind.name}`);

    it(`has every field of ${kind.name}, and sends what it shows`, () => {
      const fields = fieldsOf(row);
      const omitted = new Set(row.omitted);
      const { properties } = kind.schema as { readonly properties: object };
      assert.deepEqual(
        fields.map(({ name }) => name),
        Object.keys(properties).filter((name) => !omitted.has(name)),
      );
      const sent = objectOf(fields, draftOf(fields, read));
      const body = Object.fromEntries(
        Object.entries(sent).filter(([name]) => !pathNames(kind.path).includes(name)),
      );
      assert.deepEqual(createValidator(bodySchema(kind as typeof BASELINE)).explain(body), []);
      const again = draftOf(fields, sent);
      assert.deepEqual(again, draftOf(fields, read));
    });

    it(`changes nothing of ${kind.name} that is not touched`, () => {
      const fields = fieldsOf(row);
      const draft = draftOf(fields, read);
      assert.deepEqual(patchOf(fields, draft, draft), {});
      for (const { name } of fields) {
        const emptied = { ...draft, [name]: draftOf(fields)[name] ?? '' };
        assert.ok(
          Object.keys(patchOf(fields, draft, emptied)).every((changed) => changed === name),
        );
      }
    });
  }

  it('needs what the schema needs, and a new object has its defaults', () => {
    const responder = fieldsOf(rowOf('responder'));
    assert.deepEqual(missingIn(responder, draftOf(responder)), ['name', 'webhook']);
    const made = objectOf(responder, {
      ...draftOf(responder),
      name: ' carrier ',
      webhook: 'https://carrier.example',
    });
    assert.deepEqual(made, {
      name: 'carrier',
      webhook: 'https://carrier.example',
      at: {},
      timeout_seconds: 10,
      expires_seconds: 3_600,
    });
    const baseline = fieldsOf(rowOf('baseline'));
    assert.deepEqual(missingIn(baseline, draftOf(baseline)), ['prefix', 'rules']);
    assert.deepEqual(
      missingIn(baseline, { ...draftOf(baseline), prefix: '203.0.113.0/24', rules: [{}] }),
      ['rules.0.action', 'rules.0.protocol'],
    );
    const rule = fieldsOf(rowOf('geo-rule'));
    assert.deepEqual(objectOf(rule, { ...draftOf(rule), action: 'deny' }), {
      id: 0,
      action: 'deny',
      countries: [],
      asns: [],
      addresses: [],
    });
  });

  it('keeps a secret that is not typed, sends one that is, and ends it', () => {
    const fields = fieldsOf(rowOf('responder'));
    const draft = draftOf(fields, { ...READ['responder'], secret: 'never shown' });
    assert.ok(!JSON.stringify(draft).includes('never shown'));
    const typed = { ...draft, secret: { typed: 'new', isEnded: false } };
    assert.deepEqual(patchOf(fields, draft, typed), { secret: 'new' });
    const ended = { ...draft, secret: { typed: '', isEnded: true } };
    assert.deepEqual(patchOf(fields, draft, ended), { secret: null });
    const patch = createValidator(patchSchema(RESPONDER));
    assert.deepEqual(patch.explain(patchOf(fields, draft, ended)), []);
  });

  it('names members of an object that change, and null where one is emptied', () => {
    const fields = fieldsOf(rowOf('responder'));
    const draft = draftOf(fields, READ['responder']);
    const now = { ...draft, prefixes: '', at: { pps: '', mbps: 100 } };
    assert.deepEqual(patchOf(fields, draft, now), { prefixes: null, at: { pps: null, mbps: 100 } });
  });

  it('reads lists of words, of numbers, and a word instead of a list', () => {
    const rule = formFields(GEO_RULE.schema);
    const typed = { ...draftOf(rule), countries: 'DE, NL\nBE', asns: '64500 AS1' };
    const { countries, asns } = objectOf(rule, typed);
    assert.deepEqual(countries, ['DE', 'NL', 'BE']);
    assert.deepEqual(asns, [64_500, 'AS1']);
    const collector = formFields(COLLECTOR.schema);
    const exporters = [{ ip: '192.0.2.1', sampling_rate: null, prefixes: 'all' }];
    const sent = objectOf(collector, draftOf(collector, { exporters }));
    assert.deepEqual(sent['exporters'], [{ ip: '192.0.2.1', prefixes: 'all' }]);
  });

  it('finds the field of a pointer, and the item of a list that one field has', () => {
    const rule = formFields(GEO_RULE.schema);
    const draft = { ...draftOf(rule), addresses: '203.0.113.1, nonsense' };
    assert.deepEqual(placeOf(rule, '/addresses/1'), { path: 'addresses', index: 1 });
    assert.equal(itemAt(rule, '/addresses/1', draft), 'nonsense');
    assert.equal(itemAt(rule, '/addresses', draft), null);
    const baseline = formFields(BASELINE.schema);
    assert.deepEqual(placeOf(baseline, '/rules/3/source_ip'), {
      path: 'rules.3.source_ip',
      index: null,
    });
    const responder = fieldsOf(rowOf('responder'));
    assert.equal(placeOf(responder, '/secret').path, 'secret.typed');
  });

  it('takes the words of a kind from the contract where the page has none', () => {
    const { title, add, none } = kindWords(COLLECTOR);
    assert.equal(title, 'Collectors');
    assert.equal(add, 'Add to collectors');
    assert.deepEqual(none, { title: 'No collectors', text: 'A listener for flow samples.' });
    assert.equal(labelOf('collector', 'exporters.0.sampling_rate'), 'Sampling rate');
    assert.equal(labelOf('responder', 'prefixes'), 'Only attacks on');
  });

  it('shows in a line what is not as by default, and no secret', () => {
    const fields = fieldsOf(rowOf('responder'));
    const facts = factsOf(fields, { ...READ['responder'], secret: 'never shown' });
    assert.deepEqual(
      facts.map(({ field, text }) => [field.name, text]),
      [
        ['name', 'scrubber'],
        ['webhook', 'https://scrubber.example/attacks'],
        ['prefixes', '203.0.113.0/24'],
        ['pps', '1000'],
        ['timeout_seconds', '5'],
        ['expires_seconds', '60'],
      ],
    );
    const sources = Array.from({ length: 7 }, (_, at) => ({
      source: `192.0.2.${at}/32`,
      note: '',
    }));
    const [blocked] = factsOf(formFields(BLOCKED_LIST.schema), { sources });
    assert.match(blocked?.text ?? '', /^192\.0\.2\.0\/32, .*192\.0\.2\.4\/32, …$/);
  });
});
