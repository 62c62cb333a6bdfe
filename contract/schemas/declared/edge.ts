import { type Static, Type } from 'typebox';
import { CLOSED } from '../values.ts';
import { declaredKind, type Filled } from './declared-kind.ts';
import { cidrs, list, name, oneOf, text, whole } from './shapes.ts';

const management = Type.Object(
  { protocol: oneOf(['tcp', 'udp'], 'Of the port.'), port: whole(1, 65_535, 'A port.') },
  { ...CLOSED, title: 'ManagementPort', 'x-words': ['protocol', 'port'] },
);

const EdgeSchema = Type.Object(
  {
    name: name('The name by which the edge enrols.'),
    site: Type.Optional(text('Where it stands. Default: its name.')),
    devices: list(
      Type.String({
        maxLength: 15,
        pattern: '^(?:[A-Za-z0-9_.:@-]{1,15}|[A-Za-z0-9_.:@-]{1,14}\\*)$',
        description: 'A device, or the beginning of its name: ens*.',
      }),
      'Network devices that packets from outside come in by.',
      { minItems: 1, maxItems: 64, 'x-unique': 'The device' },
    ),
    serves: Type.Optional(
      cidrs('Prefixes that it serves. Default: all.', { default: ['0.0.0.0/0', '::/0'] }),
    ),
    sees: Type.Optional(
      oneOf(['both', 'inbound'], 'Directions that it sees.', { default: 'both' }),
    ),
    fragments: Type.Optional(
      oneOf(['reassemble', 'limit'], 'limit: where several edges may see one datagram.', {
        default: 'reassemble',
      }),
    ),
    management: Type.Optional(
      list(management, 'Always reachable on the edge host.', {
        maxItems: 64,
        'x-unique': 'The port',
        default: [{ protocol: 'tcp', port: 22 }],
      }),
    ),
  },
  { ...CLOSED, description: 'A host that enforces.' },
);

export type EdgeObject = Filled<Static<typeof EdgeSchema>>;

export const EDGE = declaredKind({
  name: 'edge',
  title: 'Edge',
  plural: 'Edges',
  path: '/edges/{name}',
  schema: EdgeSchema,
  about: 'An edge in service is not removed: stop its agent first.',
  example: { devices: ['eth0'] },
});
