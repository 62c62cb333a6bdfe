import { ascii, type Filter, opening } from '../filter.ts';
import { PROXIED } from './tcp-syn-proxy.ts';

export const ssh = {
  type: 'ssh',
  name: 'SSH',
  category: 'protocols',
  description: 'SSH and SFTP servers: a connection begins with the version of the client.',
  usualPorts: [22],
  udp: null,
  tcp: {
    ...PROXIED,
    openings: [opening(ascii('SSH-'))],
    connections: { perSecond: 5, concurrent: 50 },
  },
} as const satisfies Filter;
