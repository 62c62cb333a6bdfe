import { type Endpoint, readResponses } from '../endpoint.ts';
import { AttackPage, AttackQuery } from '../schemas/attacks.ts';

export const ATTACK_ENDPOINTS = [
  {
    operationId: 'listAttacks',
    method: 'GET',
    path: '/attacks',
    tag: 'Attacks',
    ability: 'attacks.read',
    flag: 'attack_history_api',
    write: false,
    summary: 'List attacks',
    description:
      'Attacks on addresses of the caller, newest first, that overlap the window from `from` to `to`: by default the last 24 hours. A window that reaches back further than the caller’s entitlement is raised silently; `meta.from` then holds the date used, and `meta.from_clamped` is true. `ip`, `prefix` and `asn` narrow together; what the caller does not hold gives an empty page. Follow `links.next` until it is null: links keep every parameter and show one state of the history, so pages do not shift while attacks begin, end or arrive late. An attack that is spread over a whole prefix is one attack, on the prefix’s own address.',
    requestHeaders: ['If-None-Match'],
    query: AttackQuery,
    responses: readResponses(['area_not_enabled'], {
      description: 'A page of attacks.',
      schema: AttackPage,
      example: {
        data: [
          {
            id: 311,
            destination_ip: '203.0.113.10',
            prefix: '203.0.113.0/24',
            attack_type: 'udp_flood',
            peak_bps: 1_250_000_000,
            peak_bps_formatted: '1.25 Gbps',
            peak_pps: 812_400,
            peak_pps_formatted: '812.40 Kpps',
            started_at: '2026-11-21T01:12:04+00:00',
            mitigated_at: '2026-11-21T01:12:07+00:00',
            ended_at: null,
            duration_seconds: 2876,
            status: 'ongoing',
          },
        ],
        links: {
          first:
            'https://portcullis.example/api/v1/attacks?from=2026-11-20T02%3A00%3A00%2B00%3A00&to=2026-11-21T02%3A00%3A00%2B00%3A00&snapshot=1842.9wq0cLzZ4dIhrbmUGSN3tA&page=1',
          last: 'https://portcullis.example/api/v1/attacks?from=2026-11-20T02%3A00%3A00%2B00%3A00&to=2026-11-21T02%3A00%3A00%2B00%3A00&snapshot=1842.9wq0cLzZ4dIhrbmUGSN3tA&page=1',
          prev: null,
          next: null,
        },
        meta: {
          current_page: 1,
          per_page: 25,
          total: 1,
          from: '2026-11-20T02:00:00+00:00',
          to: '2026-11-21T02:00:00+00:00',
          from_clamped: false,
        },
      },
    }),
  },
] as const satisfies readonly Endpoint[];
