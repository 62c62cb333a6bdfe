import { startLoad } from './rounds.ts';

/** The means of an attacker: the control plane, and keys of an organisation of its own with the default limits. */
export interface AttackedControl {
  readonly port: number;
  readonly databaseUrl: string;
  /** The folder of control's data, with the sockets of agents. */
  readonly data: string;
  readonly keys: readonly string[];
  /** A held address of the attacker. */
  readonly ip: string;
}

/** One way to hurt others, at full speed. */
export interface Attacker {
  readonly name: string;
  /** Attacks for this time, and says what it got. */
  attack(control: AttackedControl, durationMs: number): Promise<string>;
}

/** Add one here: it is measured like the others. */
export const ATTACKERS: readonly Attacker[] = [
  {
    name: 'dry runs of one key',
    attack: (control, durationMs) =>
      send(control, durationMs, 10, [
        post(control, `/api/x1/firewall/ips/${control.ip}/dry-run`, control.keys[0], {
          rules: [{ action: 'deny', protocol: 'tcp', destination_port: '20000' }],
          filters: [{ type: 'source', port: '21000' }],
          default: 'deny',
        }),
      ]),
  },
  {
    name: 'sign-ins from 150 sources',
    attack: (control, durationMs) =>
      send(
        control,
        durationMs,
        150,
        many(500, (n) =>
          post(control, '/api/portal/sign-in', undefined, {
            email: `${n}@example.net`,
            password: 'a wrong password',
          }),
        ),
      ),
  },
  {
    name: 'bodies of 40,000 unknown fields from 40 sources',
    attack: (control, durationMs) =>
      send(control, durationMs, 40, [
        post(
          control,
          '/api/portal/links/read',
          undefined,
          Object.fromEntries(many(40_000, (n) => [`${n}`, 1] as const)),
        ),
      ]),
  },
  {
    name: 'bodies of 40,000 unknown fields of one key',
    attack: (control, durationMs) =>
      send(control, durationMs, 10, [
        post(
          control,
          `/api/x1/firewall/ips/${control.ip}`,
          control.keys[0],
          Object.fromEntries(many(40_000, (n) => [`${n}`, 1] as const)),
          'PUT',
        ),
      ]),
  },
  {
    name: 'rules of five keys, 100 connections',
    attack: (control, durationMs) =>
      send(
        control,
        durationMs,
        100,
        many(5_000, (n) =>
          post(
            control,
            `/api/v1/firewall/ips/${control.ip}/rules`,
            control.keys[n % control.keys.length],
            { action: 'deny', protocol: 'udp', destination_port: `${1 + n}` },
          ),
        ),
      ),
  },
  {
    name: 'explanations of five keys, 100 connections',
    attack: (control, durationMs) =>
      send(
        control,
        durationMs,
        100,
        control.keys.map((key) =>
          post(control, `/api/x1/firewall/ips/${control.ip}/explain`, key, {
            protocol: 'udp',
            source_ip: '192.0.2.9',
            destination_port: 53,
          }),
        ),
      ),
  },
];

function many<T>(count: number, make: (n: number) => T): T[] {
  return Array.from({ length: count }, (_, n) => make(n));
}

/** Each connection from an address of its own, as far as there are any on loopback. */
async function send(
  { port }: AttackedControl,
  durationMs: number,
  connections: number,
  requests: readonly string[],
): Promise<string> {
  const sources = many(connections, (n) => `127.0.2.${n + 1}`);
  const { statuses, requestsPerSecond } = await startLoad(port, requests, {
    connections,
    durationMs,
    sources,
    reconnects: true,
  });
  return `${Math.round(requestsPerSecond)}/s, ${JSON.stringify(statuses)}`;
}

function post(
  { port }: AttackedControl,
  path: string,
  key: string | undefined,
  json: unknown,
  method = 'POST',
): string {
  const body = JSON.stringify(json);
  const who = key === undefined ? 'X-Portcullis-CSRF: 1' : `Authorization: Bearer ${key}`;
  return `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${who}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}
