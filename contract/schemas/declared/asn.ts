import { type Static, Type } from 'typebox';
import { CLOSED, MAX_ASN, sentText } from '../values.ts';
import { declaredKind, type Filled } from './declared-kind.ts';
import { orNone, slug, whole } from './shapes.ts';

const AsnSchema = Type.Object(
  {
    asn: whole(1, MAX_ASN, 'An autonomous system number.'),
    organisation: orNone(slug('The organisation that announces prefixes under it.')),
  },
  {
    ...CLOSED,
    description: "An ASN. Without an organisation it is the operator's, for prefixes of any.",
  },
);

export type AsnObject = Filled<Static<typeof AsnSchema>>;

export const ASN = declaredKind({
  name: 'asn',
  title: 'Asn',
  plural: 'Asns',
  path: '/asns/{asn}',
  schema: AsnSchema,
  search: Type.Object(
    { organisation: Type.Optional(sentText({ maxLength: 63, description: 'Its slug.' })) },
    CLOSED,
  ),
  about: 'One that a holding was ever announced under stays, for the history.',
  example: { organisation: 'acme' },
});
