import { type Static, Type } from 'typebox';
import { CLOSED } from '../values.ts';
import { declaredKind, type Filled } from './declared-kind.ts';
import { formed, LARGEST, list, name, textOrNone, wholeOrNone } from './shapes.ts';

/** A name of DNS, or an address without a port. */
const HOST_PATTERN = '^[A-Za-z0-9:][A-Za-z0-9.:-]{0,252}$';

const NodeSchema = Type.Object(
  {
    name: name('The name by which the node enrols.'),
    memory: wholeOrNone(
      1,
      LARGEST,
      'MiB that it offers to servers that are placed. Default: without limit.',
    ),
    disk: wholeOrNone(1, LARGEST, 'As of memory.'),
    addresses: Type.Optional(
      list(
        formed('address', 'An address of the node.'),
        'From which servers that are placed get a port.',
        { maxItems: 1_000, 'x-unique': 'The address', default: [] },
      ),
    ),
    ports: Type.Optional(
      formed('ports', 'A port expression: those that such servers get.', 2_000, {
        default: '25565-25664',
      }),
    ),
    sftp_host: textOrNone(
      'The name or address at which people reach its SFTP. Default: the one address on which it listens, else its first address, else that of the server.',
      253,
      HOST_PATTERN,
    ),
  },
  { ...CLOSED, description: 'A game host.' },
);

export type NodeObject = Filled<Static<typeof NodeSchema>>;

export const NODE = declaredKind({
  name: 'node',
  title: 'Node',
  plural: 'Nodes',
  path: '/nodes/{name}',
  schema: NodeSchema,
  about: 'With its credential. A node must have no game servers.',
  example: { memory: 65_536, addresses: ['198.51.100.10'] },
});
