import {
  COMMON,
  type Endpoint,
  RATE_HEADERS,
  readResponses,
  refusals,
  WITH_KEY,
} from '../endpoint.ts';
import {
  AttackDetail,
  AttackPage,
  AttackQuery,
  MitigationsCancelled,
  TrafficAccepted,
} from '../schemas/attacks.ts';
import { id } from '../schemas/values.ts';

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

const ATTACK_PARAMS = {
  attack: id({
    description: 'The `id` of an attack, as the list returns it. What the key does not see is 404.',
    examples: [311],
  }),
} as const;

const common = { tag: 'Attacks', flag: 'attack_history_api', params: ATTACK_PARAMS } as const;
const REFUSALS = ['area_not_enabled', 'not_found'] as const;

/** Operations on attacks beyond the public interface. */
export const X1_ATTACK_ENDPOINTS = [
  {
    ...common,
    operationId: 'readAttack',
    method: 'GET',
    path: '/attacks/{attack}',
    ability: 'attacks.read',
    write: false,
    summary: 'Read an attack',
    description:
      'An attack as the list shows it, what edges do against it, or did, and what is known of it besides: what it is made of, who sent most of it, its traffic over time, and how fast it was detected and mitigated.',
    requestHeaders: ['If-None-Match'],
    responses: readResponses(REFUSALS, {
      description: 'The attack.',
      schema: AttackDetail,
      example: {
        data: {
          attack: {
            id: 311,
            destination_ip: '203.0.113.10',
            prefix: '203.0.113.0/24',
            attack_type: 'dns_amplification',
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
          mitigations: [
            {
              id: 17,
              edge: null,
              action: 'UDP from port 53 (dns) is dropped',
              mode: 'enforce',
              since: '2026-11-21T01:12:06+00:00',
              until: null,
              ended_because: null,
            },
          ],
          dropped: { packets: 51_204_310, bytes: 9_830_000_000 },
          would_drop: { packets: 0, bytes: 0 },
          cancelled_at: null,
          evidence: {
            detected_at: '2026-11-21T01:12:05+00:00',
            detected_after_ms: 750,
            mitigated_after_ms: 310,
            shares: [{ attack_type: 'dns_amplification', share: 0.98 }],
            threshold: { pps: 20_000, bps: 1_000_000_000 },
            peak_pps_bounds: { low: 812_400, high: 812_400 },
            peak_bps_bounds: { low: 1_250_000_000, high: 1_250_000_000 },
            counted_packets: 152_330,
            top_sources: [{ source_ip: '198.51.100.53', packets: 40_211 }],
            top_source_ports: [{ port: 53, protocol: 'udp', packets: 801_930 }],
            top_destination_ports: [{ port: 27_015, protocol: 'udp', packets: 700_113 }],
            series: {
              from: '2026-11-21T01:12:04+00:00',
              step_ms: 1000,
              pps: [412_800, 812_400],
              bps: [630_000_000, 1_250_000_000],
              pps_error: null,
              bps_error: null,
            },
          },
          usual: null,
          accepted: null,
        },
      },
    }),
  },
  {
    ...common,
    operationId: 'cancelMitigations',
    method: 'DELETE',
    path: '/attacks/{attack}/mitigations',
    ability: 'firewall.manage',
    write: true,
    requestHeaders: ['Idempotency-Key'],
    idempotent: true,
    summary: 'Withdraw what is done against an attack',
    description:
      'Withdraws every mitigation of the attack, and lets nothing more be done against it for as long as it is this attack. Again changes nothing. Rules and filters stay as they are.',
    responses: {
      ...refusals(COMMON, WITH_KEY, REFUSALS),
      200: {
        description: 'Accepted. Not live everywhere yet.',
        schema: MitigationsCancelled,
        headers: [...RATE_HEADERS, 'Idempotency-Replayed?'],
        example: {
          data: { attack: 311, generation: 1842 },
          message: 'Nothing more is done against this attack once the edges have this change.',
        },
      },
    },
  },
  {
    ...common,
    operationId: 'acceptTraffic',
    method: 'POST',
    path: '/attacks/{attack}/accept',
    ability: 'firewall.manage',
    write: true,
    requestHeaders: ['Idempotency-Key'],
    idempotent: true,
    summary: 'Accept the traffic of an attack as usual',
    description:
      'For an attack with `usual`: a change that lasts, such as a launch. Its address or prefix gets these thresholds, which are kept with the name of the caller and the time, and the attack ends by them.',
    responses: {
      ...refusals(COMMON, WITH_KEY, REFUSALS),
      200: {
        description: 'Accepted.',
        schema: TrafficAccepted,
        headers: [...RATE_HEADERS, 'Idempotency-Replayed?'],
        example: {
          data: { attack: 311, target: '203.0.113.10', pps: 88_000, mbps: 71 },
          message:
            '203.0.113.10 is attacked above 88000 packets or 71 Mbit a second from now on. This attack ends when its traffic has been below that for its hold time.',
        },
      },
    },
  },
  {
    ...common,
    operationId: 'forgetTraffic',
    method: 'DELETE',
    path: '/attacks/{attack}/accept',
    ability: 'firewall.manage',
    write: true,
    requestHeaders: ['Idempotency-Key'],
    idempotent: true,
    summary: 'Take back that traffic is usual',
    description: 'The target has the thresholds of its scopes again.',
    responses: {
      ...refusals(COMMON, WITH_KEY, REFUSALS),
      200: {
        description: 'Taken back.',
        schema: TrafficAccepted,
        headers: [...RATE_HEADERS, 'Idempotency-Replayed?'],
        example: {
          data: { attack: 311, target: '203.0.113.10', pps: null, mbps: null },
          message: '203.0.113.10 has the thresholds of its prefix, service or organisation again.',
        },
      },
    },
  },
] as const satisfies readonly Endpoint[];
