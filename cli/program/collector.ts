import type { Command } from 'commander';

export interface CollectorCommandOptions {
  readonly listen?: readonly string[];
  readonly exporter?: readonly string[];
  readonly link?: string;
  readonly name?: string;
  readonly credentialFile?: string;
  readonly prefix?: readonly string[];
  readonly top: string;
  readonly pps: string;
  readonly mbps: string;
  readonly hold: string;
  readonly json?: boolean;
}

export function addCollector(program: Command): void {
  program
    .command('collector')
    .description('reads flows that routers and switches export, and says who is attacked')
    .option(
      '--listen <address:port>',
      'where exports come in, once or more (IPv6: [::]:6343)',
      listed,
    )
    .option(
      '--exporter <ip[=rate]>',
      'who may export, once or more; the rate holds where an exporter tells none',
      listed,
    )
    .option(
      '--prefix <cidr>',
      'what is protected, once or more (default: every destination)',
      listed,
    )
    .option('--link <socket>', 'be the collector of a fleet: what to listen to is asked there')
    .option('--name <name>', 'with --link: as in the fleet file')
    .option(
      '--credential-file <file>',
      'with --link: what "portcullis collectors enrol" wrote (default: PORTCULLIS_COLLECTOR_CREDENTIAL)',
    )
    .option('--pps <count>', 'packets a second to one destination that are an attack', '20000')
    .option('--mbps <count>', 'megabits a second to one destination that are an attack', '1000')
    .option('--hold <time>', 'quiet for so long, an attack has ended', '60s')
    .option('--top <count>', 'how many destinations to name each second', '5')
    .option('--json', 'one JSON document a line, one line a second and one at once for an attack')
    .addHelpText(
      'after',
      `
  portcullis collector --listen 0.0.0.0:6343 --exporter 192.0.2.1
  portcullis collector --listen 0.0.0.0:2055 --listen '[::]:2055' --exporter 192.0.2.1=1000 \\
      --exporter 2001:db8::1 --prefix 203.0.113.0/24
  portcullis collector --listen 0.0.0.0:6343 --exporter 192.0.2.1 --json | jq -c '.events[]'
  portcullis collector --listen 0.0.0.0:6343 --exporter 192.0.2.1 --pps 50000 --mbps 2000 --hold 30s
  portcullis collector --link /var/lib/portcullis/node-link/control.sock --name flows \\
      --credential-file /etc/portcullis/flows.credential

Understands sFlow 5, NetFlow 5 and 9 and IPFIX, on any port. Needs no control plane and no rights. With --link it tells a control plane
what it counts, which judges and records; "portcullis up" runs the collectors of its fleet file by itself.
A busy exporter needs more room than the kernel gives: sysctl net.core.rmem_max=16777216.`,
    )
    .action(async (options: CollectorCommandOptions) =>
      (await import('../commands/collector.ts')).runCollector(options),
    );
}

function listed(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}
