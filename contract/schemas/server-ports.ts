import { Type } from 'typebox';
import {
  arrayOf,
  choice,
  IpAddress,
  natural,
  object,
  openChoice,
  Port,
  sent,
  textOrNull,
} from './values.ts';

const name = Type.Unsafe<string | null>({
  type: ['string', 'null'],
  maxLength: 63,
  pattern: '^[a-z0-9][a-z0-9-]{0,62}$',
  examples: ['query'],
  description: 'What the port is for, in small letters. Unique on its server. Null: no name.',
});

const protocols = Type.Array(choice(['tcp', 'udp']), {
  minItems: 1,
  maxItems: 2,
  uniqueItems: true,
  description: 'Left out: those of its game.',
});

export const ServerPortOrder = sent('ServerPortOrder', {
  name: Type.Optional(name),
  protocols: Type.Optional(protocols),
  port: Type.Optional(
    Type.Unsafe<number>({
      type: 'integer',
      minimum: 1,
      maximum: 65_535,
      description: 'One of those that its node gives. Left out: the next free one.',
    }),
  ),
});

export const ServerPortChange = sent('ServerPortChange', {
  name: Type.Optional(name),
  protocols: Type.Optional(protocols),
});

const ports = arrayOf(
  {
    ip: IpAddress,
    port: Port,
    protocols: Type.Array(openChoice(['tcp', 'udp'])),
    name: textOrNull({ description: 'What the port is for.' }),
    variable: textOrNull({ description: 'The variable that has the port.' }),
    primary: Type.Boolean({ description: 'Whether players are shown it: SERVER_PORT.' }),
    added: Type.Boolean({
      description: 'Whether its people added it. The others are the operator\u2019s.',
    }),
  },
  { description: 'The first one first.' },
);

const data = object('ServerPortsData', {
  ports,
  limit: natural({
    description: 'The ports that it may have in all when people add some. 0: they add none.',
  }),
});

export const ServerPorts = object('ServerPorts', 'The ports of a server.', { data });

export const ChangedServerPorts = object('ChangedServerPorts', 'The ports as they are now.', {
  data,
  message: Type.String({ description: 'The accepted change, and when it takes effect.' }),
});
