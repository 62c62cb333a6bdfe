import { Type } from 'typebox';
import { closed, LARGEST, list, oneOf, text, whole } from './shapes.ts';

const variableName = '^\\w{1,191}$';

export const gameServer = closed({
  uuid: text('Its id for ever.', 36),
  organisation: text('Of this file.', 63),
  service: whole(1, LARGEST, 'A service of the organisation.'),
  name: text('What people call it.'),
  node: text('A node of this file.'),
  egg: text('A file, relative to this one, then to the shipped eggs.', 1000),
  limits: closed({
    memory: whole(1, LARGEST, 'MiB.'),
    cpu: whole(1, LARGEST, 'Percent of one core.'),
    disk: whole(1, LARGEST, 'MiB.'),
  }),
  allocation: Type.Optional(
    closed(
      { ip: text('An address of the node.', 50), port: whole(1, 65_535, 'A port.') },
      'Its one port, with the protocols of the egg. Either this or allocations.',
    ),
  ),
  allocations: Type.Optional(
    list(
      closed({
        ip: text('An address of the node.', 50),
        port: whole(1, 65_535, 'A port.'),
        protocols: Type.Optional(list(oneOf(['tcp', 'udp'], 'A protocol.'), 'Default: both.')),
        variable: Type.Optional(
          Type.String({ pattern: variableName, description: 'A variable to set to the port.' }),
        ),
        name: Type.Optional(
          Type.String({
            pattern: '^[a-z0-9][a-z0-9-]{0,62}$',
            description: 'What the port is for.',
          }),
        ),
      }),
      'Its ports; the first one is SERVER_IP and SERVER_PORT.',
      { minItems: 1, maxItems: 64 },
    ),
  ),
  open_while_running: Type.Optional(
    Type.Union(
      [
        Type.Boolean({ description: 'All of its ports.' }),
        list(text('A name; primary is the first one.', 63), 'Those of these names.', {
          minItems: 1,
          maxItems: 64,
        }),
      ],
      { description: 'Its ports are allowed while it runs, whatever denies them. Default: false.' },
    ),
  ),
  image: Type.Optional(text("The label of one of the egg's images. Default: the first.", 255)),
  variables: Type.Optional(
    Type.Unsafe<Record<string, string | number | boolean>>({
      type: 'object',
      propertyNames: { pattern: variableName },
      additionalProperties: {
        anyOf: [{ type: 'string', maxLength: 16_384 }, { type: 'integer' }, { type: 'boolean' }],
      },
      maxProperties: 1_000,
      description: "By environment name, within the egg's rules. Default: what the egg says.",
    }),
  ),
  suspended: Type.Optional(
    Type.Boolean({ description: 'It must not run, and is not deleted. Default: false.' }),
  ),
  crashes: Type.Optional(
    closed(
      {
        restart: Type.Optional(Type.Boolean({ description: 'Default: true.' })),
        within_seconds: Type.Optional(
          whole(0, 86_400, 'A crash this soon after another leaves it offline. Default: 60.'),
        ),
      },
      'What happens when it ends by itself.',
    ),
  ),
});
