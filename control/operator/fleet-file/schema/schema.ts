import { MAX_BLOCKED } from '@portcullis/contract/schemas/declared/blocked-list.ts';
import { BaselineEntry } from '@portcullis/contract/schemas/declared/baseline.ts';
import { COLLECTOR } from '@portcullis/contract/schemas/declared/collector.ts';
import { EDGE } from '@portcullis/contract/schemas/declared/edge.ts';
import { GEO_RULE } from '@portcullis/contract/schemas/declared/geo-rule.ts';
import { GROUP } from '@portcullis/contract/schemas/declared/group.ts';
import { SERVER } from '@portcullis/contract/schemas/declared/game-server.ts';
import { HOLDING } from '@portcullis/contract/schemas/declared/holding.ts';
import { LIBRARY_EGG } from '@portcullis/contract/schemas/declared/library-egg.ts';
import { NODE } from '@portcullis/contract/schemas/declared/node.ts';
import { ORGANISATION } from '@portcullis/contract/schemas/declared/organisation.ts';
import { ORGANISATION_KEY } from '@portcullis/contract/schemas/declared/organisation-key.ts';
import { RESPONDER } from '@portcullis/contract/schemas/declared/responder.ts';
import { SERVICE } from '@portcullis/contract/schemas/declared/service.ts';
import { type Static, Type } from 'typebox';
import { closed, list, text, whole } from './shapes.ts';

/**
 * The schema of a fleet file, for editors and for the first check of `parseFleet`.
 * The parsers in parse/ check what a schema cannot express: networks, ports, references, duplicates.
 */

const asn = whole(1, 4_294_967_295, 'An autonomous system number.');
const onePort = whole(1, 65_535, 'One port.');
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

const { organisation: _grouped, ...groupFields } = GROUP.schema.properties;
const { organisation: _located, id: _number, ...geoFields } = GEO_RULE.schema.properties;

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
  id: _keyId,
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
  groups: Type.Optional(list(closed(groupFields), 'Firewall groups.')),
  geo_rules: Type.Optional(list(closed(geoFields), 'Blocking by country or ASN.')),
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
    library: Type.Optional(list(LIBRARY_EGG.schema, 'Eggs beside those that are shipped.')),
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
