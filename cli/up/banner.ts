import { userInfo } from 'node:os';
import { isLoopbackHost } from '@portcullis/core/net/public-address.ts';
import { commandLine } from '../installation/command-line.ts';
import { print, styled } from '@portcullis/caller/output.ts';
import type { NotInService } from './edge-in-service.ts';
import type { FirstOperator } from './first-operator.ts';
import type { FirstServer } from './first-server.ts';
import { hostLines, hostsDocument, type StartedHosts } from './hosts/describe-hosts.ts';
import type { PreparedFleet } from './prepare-fleet.ts';

export interface Started {
  readonly url: string;
  /** The installation that printed commands name. */
  readonly dataDir: string;
  /** The command that enforces. */
  readonly enforce: string;
  readonly firstOperator: FirstOperator;
  /** The hosts of --hosts; null without. */
  readonly hosts: StartedHosts | null;
  readonly fleet: PreparedFleet;
  readonly mode: 'enforce' | 'observe';
  /** Why the edge only observes; of one that enforces, until when it is on trial. */
  readonly reason: string | null;
  /** Why control does not count an edge that was started to enforce; null if it does. */
  readonly unconfirmed: NotInService | null;
  /** The value of --confirm-within if a trial begins. */
  readonly confirmWithin: string | null;
  /** The node of this machine; null if the fleet has none. */
  readonly node: {
    readonly name: string;
    readonly engine: 'docker' | 'process' | 'both';
    /** Why it does not run; null if it runs. */
    readonly problem: string | null;
    /** The version of Docker there; null: it does not answer, or is not used. */
    readonly docker: string | null;
  } | null;
  /** The server of a first start; null on later starts. */
  readonly server: (FirstServer & { readonly problem: string | null }) | null;
}

export function describeStart(started: Started, asJson: boolean): void {
  if (asJson) print(JSON.stringify(documentOf(started), null, 2));
  else for (const line of linesOf(started)) print(line);
}

/** Shows keys as soon as they are made: nothing shows them again. */
export function showKeys(keys: PreparedFleet['keys']): void {
  for (const key of keys) {
    print(`API key ${key.name} of ${key.organisation} (shown only once):`);
    print(`  ${styled('bold', key.key)}`);
  }
}

function documentOf(started: Started): object {
  const { url, firstOperator, fleet, mode, reason, unconfirmed, node, server } = started;
  return {
    url,
    docs: `${url}/docs`,
    operator_link: firstOperator.kind === 'link' ? firstOperator.url : null,
    edge: fleet.edge?.name ?? null,
    mode: unconfirmed?.mode ?? mode,
    reason: unconfirmed?.reason ?? reason,
    keys: fleet.keys,
    addresses: fleet.addresses,
    node,
    server,
    ...hostsDocument(started.hosts),
  };
}

function linesOf(started: Started): string[] {
  const { url, fleet } = started;
  const lines = [styled('bold', `Portcullis is up at ${url}`), `  reference: ${url}/docs`];
  lines.push(...operatorLines(started));
  const [key] = fleet.keys;
  const [address] = fleet.addresses;
  if (key !== undefined && address !== undefined) {
    lines.push(
      '',
      'Try:',
      `  curl -s -H 'Authorization: Bearer ${key.key}' ${url}/api/v1/firewall/ips/${address}`,
    );
  }
  return [
    ...lines,
    ...serverLines(started),
    ...hostLines(started.hosts, started.dataDir),
    '',
    ...enforcementLines(started),
    '',
    'Ctrl-C stops it.',
  ];
}

function operatorLines({ firstOperator, dataDir, fleet }: Started): string[] {
  if (firstOperator.kind === 'there') return [];
  if (firstOperator.kind === 'link') {
    return [
      '',
      'To sign in as the first operator, open this link (once, within 24 hours):',
      `  ${styled('bold', firstOperator.url)}`,
      ...tunnelLines(firstOperator.url, fleet),
    ];
  }
  return [
    '',
    `Nobody is an operator yet. For a link to become one: ${commandLine(['portal', 'link'], { dataDir })}`,
  ];
}

/** A link on a loopback address opens on this machine only; a machine that one rents has no browser. */
function tunnelLines(link: string, { addresses }: PreparedFleet): string[] {
  const { hostname, port } = new URL(link);
  if (!isLoopbackHost(hostname)) return [];
  const host = addresses.find((address) => !address.includes(':')) ?? 'THIS-HOST';
  return [
    'From another computer, begin this there, then open the link there:',
    `  ssh -L ${port}:${hostname}:${port} ${userInfo().username}@${host}`,
    'Or serve it under a name of this host: --listen 0.0.0.0:443 --public-url https://NAME --tls-auto',
  ];
}

function serverLines({ url, fleet, node, server }: Started): string[] {
  const lines: string[] = [];
  const [key] = fleet.keys;
  if (server !== null && key !== undefined) {
    const { uuid, name, ip, port, problem } = server;
    lines.push(
      `  curl -s -H 'Authorization: Bearer ${key.key}' ${url}/api/v1/game-servers/${uuid}`,
      '',
      problem === null
        ? `The game server ${name} runs: nc ${ip} ${port}`
        : styled('yellow', `The game server ${name} does not run: ${problem}`),
    );
  }
  if (node !== null && node.problem !== null) {
    lines.push('', styled(['yellow', 'bold'], `NO GAME SERVERS RUN HERE: ${node.problem}.`));
  } else if (node?.engine === 'both') {
    lines.push(
      node.docker === null
        ? 'Docker does not answer here, so only games that come with Portcullis run. Once it does it is found: sudo apt-get install -y docker.io'
        : `Docker ${node.docker} runs game servers here; the portal makes the images of the shipped ones.`,
      `To create one: ${url}/servers`,
    );
  } else if (node?.engine === 'process') {
    lines.push(
      styled(
        'yellow',
        `The node ${node.name} runs servers as plain processes: NOTHING ISOLATES THEM. Use Docker for anything but tests.`,
      ),
    );
  }
  return lines;
}

function enforcementLines(started: Started): string[] {
  const { fleet, mode, reason, confirmWithin, dataDir, enforce, unconfirmed } = started;
  const asRoot = { dataDir, asRoot: true };
  if (mode === 'observe') {
    return [
      styled(['yellow', 'bold'], `NOTHING IS ENFORCED: ${reason ?? '--enforce was not given'}.`),
      'The edge renders and checks its policies. To enforce, stop this command, then:',
      `  ${enforce}`,
    ];
  }
  const state =
    unconfirmed === null
      ? `Enforcing as edge ${fleet.edge?.name}.`
      : styled(['yellow', 'bold'], `NOTHING IS ENFORCED YET: ${unconfirmed.reason}.`);
  const lines = [`${state} To disable it at any time: ${commandLine(['edge', 'off'], asRoot)}`];
  if (unconfirmed !== null)
    lines.push(`To see whether it has started: ${commandLine(['edges', 'list'], asRoot)}`);
  if (reason !== null) lines.push(styled('yellow', `It is ${reason}.`));
  if (confirmWithin !== null) {
    lines.push(
      `It is disabled again in ${confirmWithin} unless you run: ${commandLine(['edge', 'confirm'], asRoot)}`,
    );
  }
  return [
    ...lines,
    'After this command stops, the kernel continues to enforce the current policies.',
  ];
}
