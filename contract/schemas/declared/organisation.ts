import { type Static, type TOptional, type TUnsafe, Type } from 'typebox';
import { Asn, CLOSED, natural, sentText, sentTextOrNull, textOrNull } from '../values.ts';
import { declaredKind, type Filled } from './declared-kind.ts';
import { DETECTION } from './detection.ts';
import { type LimitName, LIMITS } from './limits.ts';
import { list, oneOf, slug, text } from './shapes.ts';

/** Areas of the interface that an operator activates for an organisation. */
export const FLAGS = ['firewall_api', 'attack_history_api'] as const;

const limits = Object.fromEntries(
  Object.entries(LIMITS).map(([name, { title: description, ...bounds }]) => [
    name,
    Type.Optional(Type.Unsafe<number>({ type: 'integer', ...bounds, description })),
  ]),
) as Record<LimitName, TOptional<TUnsafe<number>>>;

const OrganisationSchema = Type.Object(
  {
    slug: slug('Its short name.'),
    name: text('The name for people.'),
    flags: Type.Optional(
      list(oneOf(FLAGS, 'An area.'), 'Areas that are activated.', {
        maxItems: FLAGS.length,
        'x-unique': 'The flag',
        'x-sorted': true,
        default: [],
      }),
    ),
    limits: Type.Optional(
      Type.Object(limits, { ...CLOSED, title: 'OrganisationLimits', description: 'Its limits.' }),
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
    prefixes: natural({ description: 'How many it holds that are of no service.' }),
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
