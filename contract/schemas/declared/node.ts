import { type Static, Type } from 'typebox';
import { CLOSED } from '../values.ts';
import { declaredKind, type Filled } from './declared-kind.ts';
import {
  formed,
  LARGEST,
  list,
  name,
  text,
  textOrNone,
  truth,
  whole,
  wholeOrNone,
} from './shapes.ts';

/** An absolute path without empty, `.` or `..` segments. */
const PATH = '^(?!.*/\\.{0,2}(/|$))(/[^\\u0000-\\u001F\\u007F/]+)+$';
const path = (description: string) =>
  Type.Unsafe<string>({
    type: 'string',
    minLength: 2,
    maxLength: 1_000,
    pattern: PATH,
    description,
  });

const mount = Type.Object(
  {
    name: name('The name by which servers take it.'),
    source: path(
      'A folder of the host. The node must offer it (`node --mounts`): control alone mounts nothing.',
    ),
    target: path('Where servers see it in their container.'),
    read_only: Type.Optional(truth('Whether they only read it.', { default: true })),
    eggs: Type.Optional(
      list(text('A name of an egg.', 1_000), 'Eggs whose servers may take it. Empty: any.', {
        maxItems: 100,
        'x-unique': '',
        'x-sorted': true,
        default: [],
      }),
    ),
  },
  {
    ...CLOSED,
    title: 'NodeMount',
    'x-words': ['name', 'source', 'target', 'read_only', 'eggs'],
  },
);

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
    mounts: Type.Optional(
      list(mount, 'Folders of its host for servers that name them.', {
        maxItems: 64,
        default: [],
        'x-unique': 'The mount',
      }),
    ),
    keep_days: Type.Optional(
      whole(
        -1,
        3_650,
        'Days for which it keeps the files of a deleted server; -1: until they are purged by hand.',
        { default: 7 },
      ),
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
