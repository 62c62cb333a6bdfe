import { type Static, Type } from 'typebox';
import { CLOSED, natural } from '../values.ts';
import { declaredKind, type Filled } from './declared-kind.ts';
import { name, textOrNone, truth } from './shapes.ts';

const LibraryEggSchema = Type.Object(
  {
    name: name('The name that `egg` of a server takes.'),
    document: Type.Record(Type.String(), Type.Unknown(), {
      'x-document': true,
      description:
        'The egg as Pterodactyl or Pelican exports it, as JSON, with its scripts as they are. `readEgg` makes it of a URL or of YAML.',
    }),
    source: textOrNone('The URL that it came from, where newer ones are looked for.', 2_000),
    offered: Type.Optional(
      truth('Whether owners of organisations may choose it.', { default: true }),
    ),
  },
  { ...CLOSED, description: 'An egg of the library, beside those that are shipped.' },
);

export type LibraryEggObject = Filled<Static<typeof LibraryEggSchema>>;

export const LIBRARY_EGG = declaredKind({
  name: 'library-egg',
  title: 'LibraryEgg',
  plural: 'LibraryEggs',
  path: '/library/{name}',
  schema: LibraryEggSchema,
  output: { servers: natural({ description: 'The servers that were made from it.' }) },
  about: 'Servers that were made from it keep the egg that they have.',
  example: {
    document: {
      meta: { version: 'PTDL_v2' },
      name: 'Paper',
      docker_images: { 'Java 21': 'ghcr.io/pterodactyl/yolks:java_21' },
      startup: 'java -jar server.jar',
    },
    source: 'https://eggs.example.net/paper.json',
  },
});
