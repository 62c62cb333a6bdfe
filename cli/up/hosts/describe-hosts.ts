import { styled } from '@portcullis/caller/output.ts';
import { commandLine } from '../../installation/command-line.ts';
import type { Hosts } from './hosts-options.ts';
import type { Invitation } from './join-commands.ts';

/** The lines that a start prints with `--hosts`. */
export interface StartedHosts {
  readonly hosts: Hosts;
  readonly fingerprint: string;
  readonly invitations: readonly Invitation[];
}

/** Lines for the terminal; none without `--hosts`. `dataDir`: of this installation. */
export function hostLines(started: StartedHosts | null, dataDir: string): string[] {
  if (started === null) return [];
  const { hosts, fingerprint, invitations } = started;
  const [first] = invitations;
  const lines =
    first === undefined
      ? []
      : [
          '',
          `To join another host, run one of these on it, as root, before ${first.expiresAt.toISOString()}. Each works once;`,
          'an edge also takes --enforce, without which it only observes.',
          ...invitations.map(({ command }) => `  ${styled('bold', command)}`),
        ];
  return [
    ...lines,
    '',
    `For more hosts: ${commandLine(['tokens', 'create', 'edge', '--name', 'NAME', '--add'], { dataDir })}`,
    `Other hosts must reach ${portsOf(hosts)} of this one.`,
    `Callers: portcullis login --url ${hosts.url} --ca ${fingerprint}`,
  ];
}

/** For `--json`. */
export function hostsDocument(started: StartedHosts | null): object {
  if (started === null) return {};
  const { hosts, fingerprint, invitations } = started;
  return {
    hosts: {
      url: hosts.url,
      nats: hosts.nats?.url ?? null,
      authority: fingerprint,
      join: invitations.map(({ kind, name, command, expiresAt }) => ({
        kind,
        name,
        command,
        expires_at: expiresAt.toISOString(),
      })),
    },
  };
}

function portsOf({ listen, nats }: Hosts): string {
  return nats === null
    ? `TCP port ${listen.port}, and your NATS servers,`
    : `the TCP ports ${listen.port} (control) and ${nats.port} (NATS)`;
}
