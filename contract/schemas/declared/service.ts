import { type Static, Type } from 'typebox';
import { CLOSED } from '../values.ts';
import { declaredKind, type Filled } from './declared-kind.ts';
import { DETECTION } from './detection.ts';
import { formed, LARGEST, list, orNone, slug, text, truth, whole } from './shapes.ts';

const managed = Type.Object(
  {
    type: text('A filter.', 50),
    ports: orNone(
      formed(
        'named-ports',
        'Ports, and ports of game servers as UUID:NAME. Null: those of its game servers.',
        2_000,
      ),
    ),
  },
  { ...CLOSED, title: 'ManagedFilter', 'x-words': ['type', 'ports'] },
);

const ServiceSchema = Type.Object(
  {
    organisation: slug('The organisation that it belongs to.'),
    id: whole(1, LARGEST, 'The number of the service, unique in the fleet.'),
    name: text('The name for people.'),
    active: Type.Optional(truth('Whether attacks on it are shown.', { default: true })),
    managed_filters: Type.Optional(
      list(managed, 'Filters that it manages itself, on the ports of its game servers.', {
        maxItems: 50,
        'x-sorted': true,
        default: [
          { type: 'tcp-syn-proxy', ports: null },
          { type: 'udp-stateful', ports: null },
        ],
      }),
    ),
    ...DETECTION,
  },
  { ...CLOSED, description: 'What an organisation runs. Its addresses are holdings.' },
);

export type ServiceObject = Filled<Static<typeof ServiceSchema>>;

export const SERVICE = declaredKind({
  name: 'service',
  title: 'Service',
  plural: 'Services',
  path: '/organisations/{organisation}/services/{id}',
  schema: ServiceSchema,
  about:
    'One without addresses and game servers. One that had addresses is kept for the history, and is not active any more.',
  example: { name: 'survival-1' },
});
