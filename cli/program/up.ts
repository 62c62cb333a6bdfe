import type { Command } from 'commander';

export interface UpOptions {
  readonly fleet?: string;
  readonly data?: string;
  readonly listen?: string;
  readonly metricsListen?: string;
  readonly publicUrl?: string;
  readonly trustedProxy?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly edge?: string;
  readonly node?: string;
  readonly engine?: string;
  readonly dockerHost?: string;
  readonly enforce?: boolean;
  readonly confirmWithin?: string;
  readonly logLevel?: string;
  readonly json?: boolean;
}
export type ControlOptions = Omit<
  UpOptions,
  'fleet' | 'edge' | 'node' | 'engine' | 'dockerHost' | 'enforce' | 'confirmWithin' | 'json'
>;

export function addUp(program: Command): void {
  const up = program.command('up').description('the whole platform on this machine');
  addControlOptions(up)
    .option('--fleet <file>', 'apply this fleet file now and on every start')
    .option('--edge <name>', "which of the fleet's edges this machine is (default: the first)")
    .option('--node <name>', "which of the fleet's nodes this machine is (default: the first)")
    .option(
      '--engine <engine>',
      'what runs game servers: docker, or process, which isolates nothing (default: docker with --fleet, else process)',
    )
    .option(
      '--docker-host <url>',
      "the engine's socket (default: DOCKER_HOST, else unix:///var/run/docker.sock)",
    )
    .option('--enforce', 'let the kernel drop packets; without it the edge only observes')
    .option(
      '--confirm-within <time>',
      'with --enforce: hands off again unless confirmed, such as 120s',
    )
    .option('--json', 'print one JSON document when everything is up')
    .addHelpText(
      'after',
      `
On its first start it makes an organisation, an edge, a node, a key, which it prints once, and a small game server,
which it starts: it needs no Docker.

  portcullis up
  portcullis up --fleet fleet.yaml --listen 0.0.0.0:8080 --public-url https://edge.example.net
  sudo portcullis up --enforce --confirm-within 120s     then: sudo portcullis edge confirm`,
    )
    .action(async (options: UpOptions) => {
      const { runUp } = await import('../up/up.ts');
      await runUp(options);
    });
}

export function addControl(program: Command): void {
  const control = program
    .command('control')
    .description('the control plane alone, such as one of several replicas');
  addControlOptions(control)
    .addHelpText(
      'after',
      `
PostgreSQL is the one of DATABASE_URL, or an embedded one under the data directory.

  portcullis control --listen 127.0.0.1:8080
  DATABASE_URL=postgresql://portcullis@db.example.net/portcullis portcullis control`,
    )
    .action(async (options: ControlOptions) => {
      const { runControlCommand } = await import('../commands/control.ts');
      await runControlCommand(options);
    });
}

function addControlOptions(command: Command): Command {
  return command
    .option(
      '--data <dir>',
      'data directory (default: /var/lib/portcullis as root, else ~/.local/state/portcullis)',
    )
    .option('--listen <host:port>', 'where the API listens (default: 127.0.0.1:8080)')
    .option(
      '--metrics-listen <host:port>',
      "where /metrics listens, or 'off' (default: 127.0.0.1:9464)",
    )
    .option('--public-url <url>', 'base of absolute links, when it is not what --listen says')
    .option('--trusted-proxy <addresses>', 'proxies whose X-Forwarded-For is believed, with commas')
    .option('--tls-cert <file>', 'PEM certificate; serves HTTPS')
    .option('--tls-key <file>', 'PEM key of the certificate')
    .option('--log-level <level>', 'fatal, error, warn, info or debug');
}
