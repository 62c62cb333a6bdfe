import { type Static, Type } from 'typebox';
import { CLOSED, MAX_ASN } from '../values.ts';
import { declaredKind, type Filled } from './declared-kind.ts';
import { DETECTION } from './detection.ts';
import { formed, LARGEST, oneOf, orNone, slug, whole } from './shapes.ts';

const moment = (description: string) => orNone(formed('moment', description, 40));

const HoldingSchema = Type.Object(
  {
    organisation: slug('The organisation that holds it.'),
    id: Type.Optional(whole(0, Number.MAX_SAFE_INTEGER, 'Given when it is made.', { default: 0 })),
    prefix: formed('cidr', 'A network or an address.'),
    asn: orNone(whole(1, MAX_ASN, 'An ASN of the organisation or of the operator.')),
    service: orNone(whole(1, LARGEST, 'A service of the organisation, instead of an ASN.')),
    since: moment('A moment with an offset. Null: from when it is made.'),
    until: moment('Null: without end. A past moment ends it.'),
    default: orNone(
      oneOf(
        ['accept', 'deny'],
        'The verdict on a packet that no rule matches. Null: accept, or as of what contains it.',
      ),
    ),
    ...DETECTION,
  },
  {
    ...CLOSED,
    description: 'A prefix or an address, under an ASN, of a service or of neither, for a time.',
  },
);

export type HoldingObject = Filled<Static<typeof HoldingSchema>>;

const declared = declaredKind({
  name: 'holding',
  title: 'Holding',
  plural: 'Holdings',
  path: '/organisations/{organisation}/holdings/{id}',
  schema: HoldingSchema,
  about:
    'It ends now and stays for the history: its rules are not enforced from then on, and a new holder starts empty. One that nothing refers to, or that has not begun, goes without a trace.',
  example: { prefix: '203.0.113.0/24', asn: 64_500 },
});

export const HOLDING = { ...declared, isNumbered: true } as const;
