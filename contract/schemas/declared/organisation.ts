import { type Static, type TUnsafe, Type } from 'typebox';
import { Asn, CLOSED, natural, sentText, sentTextOrNull, textOrNull } from '../values.ts';
import { declaredKind, type Filled } from './declared-kind.ts';
import { DETECTION } from './detection.ts';
import { LARGEST, list, oneOf, slug, text } from './shapes.ts';

/** Areas of the interface that an operator activates for an organisation. */
export const FLAGS = ['firewall_api', 'attack_history_api'] as const;

/** A whole number with its bounds and its default. */
type LimitField = ReturnType<typeof Type.Optional<TUnsafe<number>>> & Readonly<Record<'minimum' | 'maximum' | 'default', number>> & { readonly description: string };

const limit = (minimum: number, maximum: number, description: string, value: number) =>
  Type.Optional(
    Type.Unsafe<number>({ type: 'integer', minimum, maximum, description, default: value }),
  ) as LimitField;

/** What an organisation may have and do. Each is a column of its name, and a field of the portal's form. */
export const LIMITS = {
  rules_per_ip: limit(0, 100_000, 'Rules per address', 100),
  filters_per_ip: limit(0, 100_000, 'Filters per address', 25),
  max_ports_per_request: limit(1, 65_535, 'Ports per request', 101),
  attack_history_days: limit(1, 36_500, 'Days of attack history', 90),
  configured_addresses: limit(0, LARGEST, 'Configured addresses', 10_000),
  requests_per_minute: limit(1, LARGEST, 'Requests per minute and key', 600),
};

/** The limits of an organisation that has none of its own. */
export const DEFAULT_LIMITS = Object.fromEntries(
  Object.entries(LIMITS).map(([name, { default: value }]) => [name, value]),
) as Readonly<Record<keyof typeof LIMITS, number>>;

const OrganisationSchema = Type.Object(
  {
    slug: slug('Its short name.'),
    name: text('What people call it.'),
    flags: Type.Optional(
      list(oneOf(FLAGS, 'An area.'), 'Areas that are activated.', {
        maxItems: FLAGS.length,
        'x-unique': 'The flag',
        'x-sorted': true,
        default: [],
      }),
    ),
    limits: Type.Optional(
      Type.Object(LIMITS, { ...CLOSED, title: 'OrganisationLimits', description: 'Its limits.' }),
    ),
    ...DETECTION,
  },
  { ...CLOSED, description: 'A customer, or a part of the operator.' },
);

export type OrganisationObject = Filled<Static<typeof OrganisationSchema>>;

export const ORGANISATION = declaredKind({
  name: 'organisation',
  title: 'Organisation',
  plural: 'Organisations',
  path: '/organisations/{slug}',
  schema: OrganisationSchema,
  input: {
    external_id: sentTextOrNull({
      minLength: 1,
      maxLength: 255,
      description: 'What a billing system calls it; unique. Left out: unchanged.',
    }),
  },
  output: {
    external_id: textOrNull({ description: 'What a billing system calls it.' }),
    asns: Type.Array(Asn, { description: 'Those that it announces prefixes under.' }),
    services: natural({ description: 'How many it has.' }),
  },
  search: Type.Object(
    { external_id: Type.Optional(sentText({ maxLength: 255, description: 'Only this one.' })) },
    CLOSED,
  ),
  about:
    'Without game servers and addresses: its flags are taken and its keys revoked. It is kept for the history, and saving it again brings it back.',
  example: { name: 'Acme Hosting', external_id: 'whmcs-17' },
});
