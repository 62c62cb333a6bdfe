import type { Row, Flag } from './endpoint.ts';

export type Version = 'v1' | 'x1' | 'portal' | 'operator';
export const VERSIONS = ['v1', 'x1', 'portal', 'operator'] as const satisfies readonly Version[];

export const FLAG_NAMES: Readonly<Record<Flag, string>> = {
  firewall_api: 'Firewall API',
  attack_history_api: 'Attack History API',
};

const ABOUT_REQUESTS = `## Requests
- Every request carries an organisation API key: \`Authorization: Bearer <API_KEY>\`. A key carries abilities; each operation names the one it needs, and the activation flag of its area. They are checked in this order: key (401), flag (403), ability (403), address or server (404), input (422).
- Bodies are JSON in UTF-8 (\`Content-Type: application/json\`). Nothing is coerced: unknown fields, unknown query parameters, wrong types and control characters are 422.
- Timestamps are ISO 8601 with an explicit UTC offset.
- \`Idempotency-Key\` on a POST or DELETE makes it safe to repeat for 24 hours. Only success is remembered: after a refusal the key is free.
- Every request is answered within 10 seconds of its last byte, if only with 503.

## Answers
- Refusals are problem documents (RFC 9457, \`application/problem+json\`): program against \`code\`. Each code has a page at \`/problems/<code>\`.
- Every answer carries \`X-Request-Id\`. Answers to a known key carry \`RateLimit\` and \`RateLimit-Policy\`.
- Reads carry an \`ETag\`; with \`If-None-Match\` an unchanged one is 304 without a body.
- Clients ignore fields and headers that they do not know.
- Bytes that are no HTTP request that this server reads are answered 400, 408, 413, 431 or 505 before any operation sees them.`;

const PACKETS = `## What happens to a packet
An edge evaluates a packet to a held address stage by stage. A drop is final. **What no rule matches is accepted**, unless the default of the address is \`deny\`.

| # | Stage | Drops | Passes for good | Passes on to the filters (12) |
|---|---|---|---|---|
| 1 | Management ports of the edge host itself | | yes | |
| 2 | ICMP that networks need, within a rate | | yes | |
| 3 | Fragment limits of the destination | above the limit | | |
| 4 | Answers to connections that the protected host opened | | yes | |
| 5 | Mitigations of an attack | what they match | | |
| 6 | The operator's baseline | its deny rules | | its allow rules |
| 7 | Blocked sources | the listed networks, whatever an allow rule says | | |
| 8 | **Allow rules that name a source** | | | yes, before geo rules |
| 9 | Geo rules | denied countries and ASNs, or all but the listed | | |
| 10 | **Other allow rules, then deny rules** | deny rules | | allow rules |
| 11 | The default of the address: \`accept\` or \`deny\` | with \`deny\` | | with \`accept\` |
| 12 | Stateful filters of the port, then accept | what they refuse | yes | |

So an allow rule wins over every deny rule of the same address, in whichever order they were created, and a deny rule for any protocol closes everything that no allow rule opens.`;

export const INFO = {
  v1: {
    title: 'Portcullis',
    version: '1.0.0',
    summary: 'Network protection and game server control',
    description: `Firewall rules and stateful filters on the addresses that you hold, control of your game servers, and the history of attacks against you.

A firewall write is *accepted* when it is answered, and *live* when every edge in service has it: 3-5 minutes later. Reads show what is live; \`Portcullis-Accepted-Generation\` and \`Portcullis-Generation\` tell how far the one is ahead of the other.

${PACKETS}

${ABOUT_REQUESTS}`,
  },
  x1: {
    title: 'Portcullis, experimental',
    version: '0.1.0',
    summary: 'What is beyond the public interface, and may change',
    description: `What scripts, command line and portal need beyond \`/api/v1\`: the same keys, abilities, flags and problems. **Operations here may change between releases.**

${ABOUT_REQUESTS}`,
  },
  portal: {
    title: 'Portcullis portal',
    version: '0.1.0',
    summary: 'What the portal calls for signed-in people, and may change',
    description: `What the portal calls beyond \`/api/v1\` and \`/api/x1\`. **Operations here may change between releases.**

- A session is the cookie that a sign-in sets. Each operation names the role that it needs: \`read-only\`, \`member\`, \`admin\` and \`owner\` of the organisation, each including those before it, or \`operator\`.
- Every operation of \`/api/v1\` and \`/api/x1\` is also below \`/api/portal/organisations/{organisation}\`, for sessions.
- A request that changes something needs \`Sec-Fetch-Site: same-origin\` (which browsers send) or \`X-Portcullis-CSRF: 1\`.
- What the fleet file of the operator owns can be read and not changed (\`managed_by_fleet_file\`).
- Refusals are problem documents (RFC 9457), as in the other interfaces.`,
  },
  operator: {
    title: 'Portcullis, operator',
    version: '0.1.0',
    summary: 'Customers, prefixes, keys, game servers and the hosts of the fleet, by program',
    description: `What a billing system or an installer calls. **Operations here may change between releases.**

- Every request carries a key of the operator: \`Authorization: Bearer <API_KEY>\`, made by \`portcullis keys create --operator\`. It belongs to no organisation, has \`operator.read\`, \`operator.manage\` or both, and may be bound to source addresses.
- Every operation is also below \`/api/portal/operator\`, for the sessions of operators.
- A PUT may be repeated. \`Idempotency-Key\` on a POST or DELETE makes it safe to repeat for 24 hours; a repeated answer has no secret.
- \`external_id\` is what a billing system calls an organisation or a game server: unique, and searched by the lists.
- What the fleet file owns is read here and changed there (\`managed_by_fleet_file\`). What is made here is shown as \`owner: portal\`.
- Refusals are problem documents (RFC 9457), as in the other interfaces. Everything is in the audit trail.`,
  },
} as const satisfies Readonly<Record<Version, unknown>>;

export const TAGS: readonly { readonly name: Row['tag']; readonly description: string }[] = [
  {
    name: 'Firewall',
    description:
      'Rules and stateful filters, address by address. Allow rules that name a source come first, then geo rules, then other allow rules, then deny rules, then the default. An allow rule passes the rules and not the filters.',
  },
  {
    name: 'Game servers',
    description: 'List servers, read their live state, send power signals and console lines.',
  },
  { name: 'Attacks', description: 'Attacks against your address space, read only.' },
  { name: 'Account', description: 'Signing in, sessions, second factors and links.' },
  {
    name: 'Organisation',
    description: 'Members, keys, webhooks and what happens in an organisation.',
  },
  { name: 'Operator', description: 'What the operator of the fleet sees and changes.' },
];
