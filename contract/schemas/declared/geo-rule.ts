import { type Static, Type } from 'typebox';
import { CLOSED, MAX_ASN } from '../values.ts';
import { declaredKind, type Filled } from './declared-kind.ts';
import { cidrs, list, oneOf, slug, text, whole } from './shapes.ts';

const GeoRuleSchema = Type.Object(
  {
    organisation: slug('The organisation that it is of.'),
    id: Type.Optional(whole(0, Number.MAX_SAFE_INTEGER, 'Given when it is made.', { default: 0 })),
    action: oneOf(['deny', 'only'], 'deny: drop these. only: drop all others.'),
    countries: Type.Optional(
      list(text('ISO 3166-1 alpha-2.', 10), 'Countries.', {
        default: [],
        maxItems: 1_000,
        'x-unique': 'The country',
        'x-sorted': true,
      }),
    ),
    asns: Type.Optional(
      list(whole(1, MAX_ASN, 'An autonomous system number.'), 'Autonomous systems.', {
        default: [],
        maxItems: 1_000,
        'x-unique': 'The ASN',
      }),
    ),
    addresses: cidrs('Addresses, or prefixes, that are held.', { maxItems: 100_000 }),
  },
  { ...CLOSED, description: 'Blocking by country or ASN.' },
);

export type GeoRuleObject = Filled<Static<typeof GeoRuleSchema>>;

const declared = declaredKind({
  name: 'geo-rule',
  title: 'FirewallGeoRule',
  plural: 'FirewallGeoRules',
  path: '/organisations/{organisation}/geo-rules/{id}',
  schema: GeoRuleSchema,
  refusals: ['rule_exists', 'limit_exceeded'],
  about:
    'It drops nothing from then on. One with another content is another rule, with another number.',
  example: { action: 'deny', countries: ['XX'], addresses: ['203.0.113.10'] },
});

export const GEO_RULE = { ...declared, isNumbered: true } as const;
