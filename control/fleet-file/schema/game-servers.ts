import { Type } from 'typebox';
import { closed, LARGEST, list, text, whole } from './shapes.ts';

export const node = closed({
  name: Type.String({
    pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$',
    description: 'What the node enrols as.',
  }),
  memory: Type.Optional(
    whole(1, LARGEST, 'MiB that it offers to servers that are placed. Default: without limit.'),
  ),
  disk: Type.Optional(whole(1, LARGEST, 'As of memory.')),
  addresses: Type.Optional(
    list(text('An address of the node.', 50), 'From which servers that are placed get a port.', {
      maxItems: 1_000,
    }),
  ),
  ports: Type.Optional(text('Ports that they get. Default: 25565-25664.', 2_000)),
});
