import { type Static, Type } from 'typebox';
import { CLOSED } from '../values.ts';
import { declaredKind, type Filled } from './declared-kind.ts';
import { formed, list, orNone, slug } from './shapes.ts';

/** The largest number of networks that an organisation blocks. */
export const MAX_BLOCKED = 10_000;

const source = Type.Object(
  {
    source: formed('cidr', 'A network or an address.'),
    note: Type.Optional(Type.String({ maxLength: 200, description: 'Why.', default: '' })),
    expires_at: orNone(formed('moment', 'When it ends by itself. Null: never.', 40)),
  },
  { ...CLOSED, 'x-words': ['source'] },
);

const BlockedListSchema = Type.Object(
  {
    organisation: slug('The organisation that blocks them.'),
    target: formed('target', 'A network or an address that it holds, or `all`, also later.'),
    sources: list(source, 'Dropped before any allow rule.', {
      minItems: 1,
      maxItems: MAX_BLOCKED,
      'x-unique': '',
    }),
  },
  { ...CLOSED, description: 'Sources that reach nothing of a target.' },
);

export type BlockedListObject = Filled<Static<typeof BlockedListSchema>>;

export const BLOCKED_LIST = declaredKind({
  name: 'blocked-list',
  title: 'BlockedList',
  plural: 'BlockedLists',
  path: '/organisations/{organisation}/blocked/{target}',
  schema: BlockedListSchema,
  refusals: ['limit_exceeded'],
  about: 'Its sources reach the target again.',
  example: { sources: [{ source: '198.51.100.0/24', note: 'scans' }] },
});
