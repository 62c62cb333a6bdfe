import { Type } from 'typebox';
import { type Endpoint, readResponses } from '../endpoint.ts';
import { FILTER_CATEGORIES } from '../schemas/firewall.ts';
import { object, openChoice, Port } from '../schemas/values.ts';

const FilterEntry = object('FilterEntry', 'A stateful filter.', {
  type: Type.String({ description: 'The slug.', examples: ['source'] }),
  name: Type.String({ examples: ['Source engine'] }),
  category: openChoice(FILTER_CATEGORIES),
  description: Type.String({ description: 'What it protects.' }),
  protocols: Type.Array(openChoice(['udp', 'tcp'] as const), {
    description: 'What it filters on its port. Packets of another protocol pass as rules say.',
  }),
  usual_ports: Type.Array(Port, {
    description: 'The default ports of servers; empty if there is none.',
  }),
  page: Type.String({
    format: 'uri',
    description: 'What it lets through, what it drops and what it cannot do.',
  }),
});

/** Filters beyond version 1. */
export const X1_FILTER_ENDPOINTS = [
  {
    tag: 'Firewall',
    flag: 'firewall_api',
    operationId: 'listFilters',
    method: 'GET',
    path: '/firewall/filters',
    ability: 'firewall.read',
    write: false,
    requestHeaders: ['If-None-Match'],
    summary: 'List the filters that there are',
    description:
      'The whole catalogue with what each filter protects. An address can lack some of them: `GET /api/v1/firewall/ips/{ip}/filters/available` lists those that it can have.',
    responses: readResponses(['area_not_enabled'], {
      description: 'All filters.',
      schema: object('FilterCatalogue', { data: Type.Array(FilterEntry) }),
      example: {
        data: [
          {
            type: 'source',
            name: 'Source engine',
            category: 'games',
            description: 'Counter-Strike, Garry’s Mod and others, with their server queries.',
            protocols: ['udp'],
            usual_ports: [27015],
            page: 'https://portcullis.example.com/docs/filters/source',
          },
        ],
      },
    }),
  },
] as const satisfies readonly Endpoint[];
