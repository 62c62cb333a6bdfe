import type { Command } from 'commander';

export interface EdgeOptions {
  readonly name?: string;
  readonly link?: string;
  readonly data?: string;
  readonly observe?: boolean;
  readonly confirmWithin?: string;
  readonly logLevel?: string;
  readonly json?: boolean;
}

export interface BootUnitOptions extends EdgeOptions {
  readonly install?: boolean;
  readonly uninstall?: boolean;
}

const DATA = ['--data <dir>', 'data directory of this host'] as const;

export function addEdge(program: Command): void {
  const edge = program
    .command('edge')
    .description('the agent that makes this host enforce')
    .option('--name <name>', 'its name in the fleet (default: local)')
    .option('--link <path>', 'socket of the control plane (default: in the data directory)')
    .option(...DATA)
    .option('--observe', 'render and check, but drop nothing')
    .option(
      '--confirm-within <time>',
      'hands off again unless confirmed within this time, such as 120s',
    )
    .option('--log-level <level>', 'fatal, error, warn, info or debug')
    .addHelpText(
      'after',
      `
  sudo portcullis edge --name fra1 --confirm-within 120s
  sudo portcullis edge confirm     keep enforcing
  sudo portcullis edge off         hands off this host, now and after a restart, with or without control
  sudo portcullis edge on          enforce again
  sudo portcullis edge boot-unit --install    enforce from before the network is up`,
    )
    .action(async (options: EdgeOptions) => (await import('../commands/edge.ts')).runEdge(options));
  addBootUnit(edge);
  for (const [name, description] of [
    ['off', 'take our hands off this host; needs no control plane'],
    ['on', 'let the edge of this host enforce again'],
    ['confirm', 'keep what --confirm-within would take back'],
  ] as const) {
    edge
      .command(name)
      .description(description)
      .option(...DATA)
      .option('--json', 'as JSON')
      .action(async (_options: EdgeOptions, command: Command) =>
        (await import('../commands/edge-switch.ts')).switchEdge(
          name,
          command.optsWithGlobals<EdgeOptions>(),
        ),
      );
  }
}

function addBootUnit(edge: Command): void {
  edge
    .command('boot-unit')
    .description('the systemd unit that enforces from before the network is up, after a reboot')
    .option(...DATA)
    .option('--install', 'put it in its place and enable it')
    .option('--uninstall', 'take it away again')
    .action(async (_options: EdgeOptions, command: Command) =>
      (await import('../commands/boot-unit.ts')).bootUnit(
        command.optsWithGlobals<BootUnitOptions>(),
      ),
    );
}
