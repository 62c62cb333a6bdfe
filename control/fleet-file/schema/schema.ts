import { MAX_BLOCKED } from '@portcullis/contract/operations/x1-blocked.ts';
import { BaselineEntry } from '@portcullis/contract/schemas/declared/baseline.ts';
import { COLLECTOR } from '@portcullis/contract/schemas/declared/collector.ts';
import { EDGE } from '@portcullis/contract/schemas/declared/edge.ts';
import { SERVER } from '@portcullis/contract/schemas/declared/game-server.ts';
import { HOLDING } from '@portcullis/contract/schemas/declared/holding.ts';
import { NODE } from '@portcullis/contract/schemas/declared/node.ts';
import { ORGANISATION } from '@portcullis/contract/schemas/declared/organisation.ts';
import { ORGANISATION_KEY } from '@portcullis/contract/schemas/declared/organisation-key.ts';
import { RESPONDER } from '@portcullis/contract/schemas/declared/responder.ts';
import { SERVICE } from '@portcullis/contract/schemas/declared/service.ts';
import { type Static, Type } from 'typebox';
import { closed, list, oneOf, text, whole } from './shapes.ts';

/**
 * The schema of a fleet file, for editors and for the first check of `parseFleet`.
 * The parsers in parse/ check what a schema cannot express: networks, ports, references, duplicates.
 */

const asn = whole(1, 4_294_967_295, 'An autonomous system number.');
const moment = text('A moment with an offset: "2026-01-01T00:00:00+00:00".', 40);
const portExpression = text('Ports: "80", "7000-7010", "80,443".', 2000);
const onePort = whole(1, 65_535, 'One port.');
const ports = Type.Union([portExpression, onePort], {
  description: 'A port, or an expression of ports.',
});
const namedPorts = Type.Union(
  [text('Ports, or the name of a port of a game server: "Survival:query".', 2000), onePort],
  { description: 'A port, an expression of ports, or SERVER:PORT, which is followed.' },
);

const {
  organisation: _holder,
  id: _id,
  prefix: _prefix,
  service: _service,
  ...held
} = HOLDING.schema.properties;
const { asn: announced, ...window } = held;

const ruleFields = {
  action: oneOf(['allow', 'deny'], 'What happens to a packet that matches.'),
  protocol: oneOf(['tcp', 'udp', 'icmp', 'gre', 'esp', 'any'], 'icmp is ICMPv6 on IPv6.'),
  destination_port: Type.Optional(namedPorts),
  source_ip: Type.Optional(text('An address or a CIDR; left out: any source.', 50)),
};
const marks = {
  ref: Type.Optional(text('Your own name for it, unique in the group; for one port.', 100)),
  expires_at: Type.Optional(moment),
  note: Type.Optional(text('Plain text, for people.', 2_000)),
};
const groupRule = closed(
  { ...ruleFields, ...marks },
  'A rule of a group; one is made for each port.',
);
const filter = closed({ type: text('A filter of the catalogue.', 50), port: ports, ...marks });
const targets = list(text('An address or a CIDR.', 50), 'Addresses, or prefixes, that are held.');

const fallback = { default: window.default };

const { organisation: _owner, ...serviceFields } = SERVICE.schema.properties;
const service = closed({
  ...serviceFields,
  prefixes: Type.Optional(
    list(closed({ cidr: text('A network.', 50), ...window }), 'Prefixes assigned to it.'),
  ),
  addresses: Type.Optional(
    list(closed({ ip: text('One address.', 50), ...window }), 'Addresses assigned to it.'),
  ),
  managed_filters: Type.Optional(
    list(
      Type.Union([
        text('A filter, on the ports of its game servers.', 50),
        closed({ type: text('A filter.', 50), ports: Type.Optional(namedPorts) }),
      ]),
      'Filters that it manages itself. Default: tcp-syn-proxy and udp-stateful.',
      { maxItems: 50 },
    ),
  ),
});

const servers = (description: string) =>
  Type.Optional(
    Type.Union([
      Type.Unsafe<'all'>({ type: 'string', enum: ['all'] }),
      list(text('A uuid.', 36), description),
    ]),
  );
const {
  organisation: _keeper,
  id: _number,
  servers: _seen,
  managed_servers: _managed,
  ...keyFields
} = ORGANISATION_KEY.schema.properties;
const key = closed({
  ...keyFields,
  abilities: list(text('Such as firewall.read.', 50), 'What it may do.', { minItems: 1 }),
  servers: servers('The servers that it sees.'),
  manage_servers: servers('Of those, the servers that it may instruct. Default: all of them.'),
});

const { slug: _slug, ...organisationFields } = ORGANISATION.schema.properties;
const organisation = closed({
  ...organisationFields,
  asns: Type.Optional(list(asn, 'ASNs that it announces prefixes under.')),
  prefixes: Type.Optional(
    list(
      closed({ cidr: text('A network.', 50), asn: announced, ...window }),
      'Its prefixes. The ASN is its own, one of the operator, or left out.',
    ),
  ),
  services: Type.Optional(list(service, 'What it runs.')),
  ...fallback,
  keys: Type.Optional(list(key, 'API keys.')),
  groups: Type.Optional(
    list(
      closed({
        name: text('How the file finds the group again.'),
        rules: Type.Optional(list(groupRule, 'Its rules.')),
        filters: Type.Optional(list(filter, 'Its filters.')),
        addresses: Type.Optional(targets),
      }),
      'Firewall groups.',
    ),
  ),
  geo_rules: Type.Optional(
    list(
      closed({
        action: oneOf(['deny', 'only'], 'deny: drop these. only: drop all others.'),
        countries: Type.Optional(list(text('ISO 3166-1 alpha-2.', 10), 'Countries.')),
        asns: Type.Optional(list(asn, 'Autonomous systems.')),
        addresses: targets,
      }),
      'Blocking by country or ASN.',
    ),
  ),
  blocked_sources: Type.Optional(
    list(
      closed({
        sources: list(text('An address or a CIDR.', 50), 'Dropped before any allow rule.', {
          minItems: 1,
          maxItems: MAX_BLOCKED,
        }),
        addresses: Type.Optional(
          list(text('An address or a CIDR.', 50), 'Where. Default: everything that it holds.', {
            minItems: 1,
          }),
        ),
        note: Type.Optional(Type.String({ maxLength: 200, description: 'Why.' })),
      }),
      'Sources that reach nothing.',
    ),
  ),
});

export const FleetSchema = Type.Object(
  {
    asns: Type.Optional(list(asn, 'ASNs of the operator, for prefixes of any organisation.')),
    organisations: Type.Optional(
      Type.Unsafe<Record<string, Static<typeof organisation>>>({
        type: 'object',
        propertyNames: { pattern: '^[a-z0-9][a-z0-9-]{0,62}$' },
        additionalProperties: organisation,
        description: 'Organisations by their short name.',
      }),
    ),
    baseline: Type.Optional(
      list(BaselineEntry, "The operator's own rules, before everybody else's."),
    ),
    edges: Type.Optional(list(EDGE.schema, 'Hosts that enforce rules on packets.')),
    collectors: Type.Optional(
      list(COLLECTOR.schema, 'Listeners for flow samples.', { maxItems: 100 }),
    ),
    responders: Type.Optional(
      list(RESPONDER.schema, 'What is called for attacks beside the edges.', { maxItems: 32 }),
    ),
    nodes: Type.Optional(list(NODE.schema, 'Game hosts.')),
    game_servers: Type.Optional(list(SERVER.schema, 'Game servers.')),
  },
  {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Portcullis fleet file',
    description:
      'Everything that the operator declares. Apply it with `portcullis fleet apply FILE`.',
    additionalProperties: false,
  },
);

export type FleetText = Static<typeof FleetSchema>;
export type OrganisationText = Static<typeof organisation>;
export type RuleEntry = Static<typeof groupRule>;
export type FilterEntry = Static<typeof filter>;
