import { type Static, Type } from 'typebox';
import { CLOSED } from '../values.ts';
import { declaredKind, type Filled } from './declared-kind.ts';
import { ruleFields } from './rule-fields.ts';
import { cidrs, list, orNone, slug, text, textOrNone } from './shapes.ts';

const marks = {
  ref: textOrNone('Your own name for it, unique in the group; for one port.', 100),
  expires_at: textOrNone('A moment with an offset: "2026-01-01T00:00:00+00:00".', 40),
  note: orNone(Type.String({ maxLength: 2_000, description: 'Plain text, for people.' })),
};

const port = Type.Unsafe<string | number>({
  anyOf: [
    { type: 'string', minLength: 1, maxLength: 2_000, description: 'Ports: "80", "7000-7010".' },
    { type: 'integer', minimum: 1, maximum: 65_535, description: 'One port.' },
  ],
  description: 'A port, or an expression of ports.',
});

const groupRule = Type.Object(
  {
    ...ruleFields(
      'Ports, or the name of a port of a game server: "Survival:query".',
      'A port, an expression of ports, or SERVER:PORT, which is followed.',
    ),
    ...marks,
  },
  { ...CLOSED, description: 'A rule of a group; one is made for each port.' },
);

const filter = Type.Object(
  {
    type: text('A filter of the catalogue.', 50),
    port,
    ...marks,
  },
  CLOSED,
);

const GroupSchema = Type.Object(
  {
    organisation: slug('The organisation that it is of.'),
    name: text('How the file finds the group again.'),
    rules: Type.Optional(list(groupRule, 'Its rules.', { default: [] })),
    filters: Type.Optional(list(filter, 'Its filters.', { default: [] })),
    addresses: Type.Optional(
      cidrs('Addresses, or prefixes, that are held.', { default: [], maxItems: 100_000 }),
    ),
  },
  { ...CLOSED, description: 'Rules and filters for many addresses at once.' },
);

export type GroupObject = Filled<Static<typeof GroupSchema>>;

export const GROUP = declaredKind({
  name: 'group',
  title: 'FirewallGroup',
  plural: 'FirewallGroups',
  path: '/organisations/{organisation}/groups/{name}',
  schema: GroupSchema,
  refusals: ['rule_exists', 'filter_exists', 'filter_unavailable', 'limit_exceeded'],
  about: 'What it put on addresses ends with it.',
  example: {
    rules: [{ action: 'deny', protocol: 'udp', destination_port: '19' }],
    addresses: ['203.0.113.0/24'],
  },
});
